-- The limits of those of the jobs that wait.
select id, limit_name from jobs
where id = any(%(ids)s::bigint[]) and finished_at is null and status = 'pending'
order by id
