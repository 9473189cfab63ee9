-- An effect outside the database failed: nothing is in progress any more, unless another attempt has taken it over.
delete from job_executions
where job_type = %(job_type)s and idempotency_key = %(key)s and completed_at is null
  and job_id = %(job_id)s and claim_id = %(claim_id)s
