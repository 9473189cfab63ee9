-- Keep the result of an effect that the caller's transaction has begun.
update job_executions set result = %(result)s::jsonb where job_type = %(job_type)s and idempotency_key = %(key)s
returning result
