-- The next chunk of failed jobs, the oldest first, of those that had failed when the command began.
select id, kind, failed_at
from jobs
where failed_at is not null
  and (failed_at, id) > (coalesce(%(after_at)s::timestamptz, '-infinity'), coalesce(%(after_id)s::bigint, 0))
  and failed_at <= %(began)s
  and (%(kind)s::text is null or kind = %(kind)s::text collate "C")
  and (%(error_class)s::text is null or error_class = %(error_class)s)
  and (%(since)s::timestamptz is null or failed_at >= %(since)s)
  and (%(until)s::timestamptz is null or failed_at < %(until)s)
order by failed_at, id
limit %(size)s
