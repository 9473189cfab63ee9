-- What was refused, the latest hour first, from behind a place in that order.
select row_to_json(shown), found.hour, found.id
from (
  select id, hour, source, reason, count, last_at, sample
  from rejections
  where (hour, id) < (coalesce(%(after_hour)s::timestamptz, 'infinity'), coalesce(%(after_id)s::bigint, 0))
    and (%(source)s::text is null or source = %(source)s::text collate "C")
    and (%(since)s::timestamptz is null or last_at >= %(since)s)
  order by hour desc, id desc
  limit %(size)s) found
cross join lateral (select found.source, reason, found.hour, count, last_at, sample) shown
