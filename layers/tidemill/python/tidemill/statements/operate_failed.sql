-- Failed jobs, the latest first, from behind a place in that order.
select row_to_json(shown)
from (
  select id, kind, attempts, error_class, last_error, failed_at, event_id
  from jobs
  where failed_at is not null
    and (failed_at, id) < (coalesce(%(after_at)s::timestamptz, 'infinity'), coalesce(%(after_id)s::bigint, 0))
    and (%(kind)s::text is null or kind = %(kind)s::text collate "C")
    and (%(error_class)s::text is null or error_class = %(error_class)s)
    and (%(since)s::timestamptz is null or failed_at >= %(since)s)
    and (%(until)s::timestamptz is null or failed_at < %(until)s)
  order by failed_at desc, id desc
  limit %(size)s) shown
