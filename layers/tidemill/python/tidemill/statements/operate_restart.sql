-- Forget a job's steps from the first one of this name on, and put the job back into its line with a fresh budget, as in
-- operate_redrive.sql. The caller has locked the job; no row: it has no such step.
with first as (
  select min(position) as position from job_steps where job_id = %(id)s and name = %(step)s::text collate "C"
), forgotten as (
  delete from job_steps s using first where s.job_id = %(id)s and s.position >= first.position
  returning 1
)
update jobs set
  status = 'pending', attempts = 0, expiries = 0, unknown_since = null, run_at = now(), limit_name = %(limit_name)s,
  locked_until = null, claim_id = null, worker = null, started_at = null, finished_at = null, sent_at = null, alerted_at = null,
  result = null,
  first_failed_at = coalesce(first_failed_at, failed_at),
  redriven_at = now()
where id = %(id)s and exists (select from forgotten)
returning (select count(*) from forgotten)
