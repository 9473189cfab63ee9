-- An event with the first of its bytes, its jobs and their latest failed attempts.
select
  (select row_to_json(shown) from (
     select e.id, e.source, e.dedup_key, e.received_at, e.correlation_id, e.redeliveries, e.mismatches, e.redelivered_at,
            e.route_error, e.headers, octet_length(e.body) as body_bytes) shown),
  substring(e.body from 1 for %(bound)s),
  (select coalesce(json_agg(shown order by id), '[]') from (
     select id, kind, status, attempts, max_attempts, key, copy_of, run_at, finished_at, error_class, last_error,
            (select coalesce(json_agg(failure order by failure.id), '[]') from (
               select id, at, attempt, error_class, error from job_errors where job_id = j.id order by id desc limit 10) failure
            ) as errors,
            (select coalesce(json_agg(step order by step.position), '[]') from (
               select position, name, kind, wake_at, error, kind = 'step' or result is not null or wake_at <= now() as over
               from job_steps where job_id = j.id
               order by position desc limit 50) step
            ) as steps
     from jobs j where event_id = e.id order by id limit 100) shown)
from events e
where id = %(id)s
