-- Record what a step has come to, where the job is still this claim's. The lock on the job makes a claim that is being lost at
-- this moment wait, or is refused; no row: it is lost.
insert into job_steps (job_id, position, kind, name, result, error_class, error)
select id, %(position)s, 'step', %(name)s, %(result)s::jsonb, %(error_class)s, %(error)s
from jobs
where id = %(job)s and claim_id = %(claim)s and status = 'running'
for no key update
returning result
