-- The history of a workflow: each step with whether it is over.
select position, kind, name, result is not null or error_class is not null or (kind = 'sleep' and wake_at <= now()),
       result, error_class, error
from job_steps
where job_id = %(job)s
order by position
