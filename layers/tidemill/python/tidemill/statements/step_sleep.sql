-- Begin to sleep, or look whether it is over. While it is not, the job's run_at is its end, and whoever settles leaves it. The
-- fence is as in step_record.sql.
with held as (
  select id from jobs where id = %(job)s and claim_id = %(claim)s and status = 'running' for no key update
), slept as (
  insert into job_steps as s (job_id, position, kind, name, wake_at)
  select id, %(position)s, 'sleep', %(name)s, now() + make_interval(secs => %(seconds)s) from held
  on conflict (job_id, position) do update set wake_at = s.wake_at
  returning job_id, wake_at, wake_at <= now() as over
), moved as (
  update jobs j set run_at = slept.wake_at from slept where j.id = slept.job_id and not slept.over
)
select over, null from slept
