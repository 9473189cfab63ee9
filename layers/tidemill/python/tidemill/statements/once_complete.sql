-- An effect outside the database has happened, whoever may have taken it over meanwhile; what was recorded first stays. No
-- row at all: another recorded it after this statement began: run it again.
with done as (
  insert into job_executions as e (job_type, idempotency_key, request_hash, result, completed_at)
  values (%(job_type)s, %(key)s, %(request_hash)s, %(result)s::jsonb, now())
  on conflict (job_type, idempotency_key) do update
    set result = excluded.result, completed_at = now(), job_id = null, claim_id = null, locked_until = null
    where e.completed_at is null
  returning result
)
select result from done
union all
select result from job_executions
where job_type = %(job_type)s and idempotency_key = %(key)s and completed_at is not null and not exists (select from done)
