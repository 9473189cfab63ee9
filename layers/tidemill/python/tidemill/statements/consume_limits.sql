-- The limits of those of the jobs that may be claimed.
select id, limit_name from jobs
where id = any(%(ids)s::bigint[]) and finished_at is null and status = 'pending' and sent_at is not null
  and run_at <= now() + interval '1 day'
order by id
