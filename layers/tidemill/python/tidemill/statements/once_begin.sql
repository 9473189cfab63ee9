-- Begin an effect in the caller's transaction, or say what is known of its key; another transaction that has begun it is
-- waited for. No row at all: that one was committed after this statement began: run it again.
with begun as (
  insert into job_executions (job_type, idempotency_key, request_hash, completed_at)
  values (%(job_type)s, %(key)s, %(request_hash)s, now())
  on conflict (job_type, idempotency_key) do nothing
  returning id
)
select true, null, true, null from begun
union all
select false, request_hash, completed_at is not null, result from job_executions
where job_type = %(job_type)s and idempotency_key = %(key)s and not exists (select from begun)
