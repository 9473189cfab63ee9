-- Which of the jobs are still out, each with the seconds until it may be tried again; at most 0: nothing stands against it.
-- Those whose message will not come again go back to their lines.
with returned as (
  update jobs set sent_at = null, run_at = greatest(run_at - interval '1 day', now() + interval '10 seconds')
  where id = any(%(last)s::bigint[]) and finished_at is null and status = 'pending' and sent_at is not null
  returning id
)
select id, extract(epoch from case when status = 'running' then locked_until else run_at - interval '1 day' end - now())::float8
from jobs
where id = any(%(ids)s::bigint[]) and finished_at is null and sent_at is not null and id not in (select id from returned)
