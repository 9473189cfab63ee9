-- Failed jobs of which nobody was told: their worker died in between, or they were failed by hand. A drain marks what it has
-- told when it ends, at most 15 minutes later. They are marked once they are told (told.sql), so that they are not lost with
-- a process that dies, or while nobody can be reached.
select id, kind, coalesce(error_class, ''), coalesce(last_error, ''), correlation_id
from jobs
where failed_at > now() - interval '1 day' and failed_at < now() - interval '16 minutes' and alerted_at is null
order by failed_at, id
limit 100
