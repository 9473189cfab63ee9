-- Count refusals of this hour. A source has so many reasons in an hour at most; what comes beyond them is counted as one more.
insert into rejections as r (source, reason, hour, count, last_at, sample)
select %(source)s, case when k.room then %(reason)s else %(other)s end, h.hour, %(count)s, now(), %(sample)s
from (select date_trunc('hour', now(), 'UTC') as hour) h
cross join lateral (
  select count(*) < %(most)s or coalesce(bool_or(reason = %(reason)s), false) as room
  from rejections where hour = h.hour and source = %(source)s::text collate "C") k
on conflict (source, reason, hour) do update
set count = r.count + excluded.count, last_at = excluded.last_at, sample = excluded.sample
