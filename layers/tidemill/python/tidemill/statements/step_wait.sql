-- Begin to wait for a signal, or look whether it is there or its time is over; as in step_sleep.sql. The caller holds the lock
-- of the signal's name.
with held as (
  select id from jobs where id = %(job)s and claim_id = %(claim)s and status = 'running' for no key update
), signal as (
  select payload from signals where name = %(name)s::text collate "C"
), waited as (
  insert into job_steps as s (job_id, position, kind, name, wake_at, result)
  select id, %(position)s, 'wait_for', %(name)s, now() + make_interval(secs => %(seconds)s),
         coalesce((select payload from signal), case when %(seconds)s::float8 <= 0 then jsonb 'null' end)
  from held
  on conflict (job_id, position) do update set
    result = coalesce((select payload from signal), case when s.wake_at <= now() then jsonb 'null' end)
  returning job_id, wake_at, result
), moved as (
  update jobs j set run_at = waited.wake_at from waited where j.id = waited.job_id and waited.result is null
)
select result is not null, result from waited
