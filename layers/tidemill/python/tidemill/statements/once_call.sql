-- Begin an effect outside the database, or say what is known of its key. It is in progress while the job that is at it holds
-- the same claim and its lease; another attempt of that job goes on at once. No row at all: run the statement again.
with begun as (
  insert into job_executions as e (job_type, idempotency_key, request_hash, job_id, claim_id, locked_until)
  values (%(job_type)s, %(key)s, %(request_hash)s, %(job_id)s, %(claim_id)s, now() + make_interval(secs => %(seconds)s))
  on conflict (job_type, idempotency_key) do update set
    request_hash = coalesce(e.request_hash, excluded.request_hash), job_id = excluded.job_id, claim_id = excluded.claim_id,
    locked_until = excluded.locked_until
  where e.completed_at is null
    and coalesce(e.request_hash = excluded.request_hash, true)
    and (e.job_id = excluded.job_id or e.locked_until < now() or not exists (
      select from jobs j
      where j.id = e.job_id and j.status = 'running' and j.claim_id = e.claim_id and j.locked_until > now()))
  returning id
)
select true, null, false, null from begun
union all
select false, request_hash, completed_at is not null, result from job_executions
where job_type = %(job_type)s and idempotency_key = %(key)s and not exists (select from begun)
