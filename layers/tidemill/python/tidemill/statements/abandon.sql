-- Give back what a claim took whose answer was lost with its connection: nobody has started these jobs.
update jobs set status = 'pending', attempts = attempts - 1, locked_until = null
where finished_at is null and status = 'running' and claim_id = any(%(claims)s::bigint[])
