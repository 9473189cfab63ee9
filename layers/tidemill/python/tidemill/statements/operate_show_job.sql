-- A job with all that a person needs to judge it. The payload and the result go as text: they may be large, or too deep for a
-- JSON parser.
select
  (select row_to_json(shown) from (
     select j.id, j.kind, j.status, j.attempts, j.max_attempts, j.key, j.freed_key,
            case when j.status = 'pending' and j.sent_at is not null then j.run_at - interval '1 day' else j.run_at end as run_at,
            j.locked_until, j.worker,
            j.error_class, j.last_error, j.event_id, j.copy_of, j.correlation_id, j.tenant, j.priority, j.limit_name, j.slot,
            j.created_at, j.started_at, j.finished_at, j.first_failed_at, j.failed_at, j.redriven_at, j.expiries,
            j.unknown_since, j.sent_at) shown),
  left(j.payload::text, %(bound)s + 1),
  left(j.result::text, %(bound)s + 1),
  (select coalesce(json_agg(shown order by id), '[]') from (
     select id, at, attempt, worker, error_class, error, log_stream, request_id
     from job_errors where job_id = j.id order by id desc limit 50) shown),
  (select row_to_json(shown) from (
     select id, source, dedup_key, received_at, redeliveries, route_error from events where id = j.event_id) shown),
  (select coalesce(json_agg(shown order by id), '[]') from (
     select id, kind, status from jobs where event_id = j.event_id and id <> j.id order by id limit 100) shown),
  (select coalesce(json_agg(shown order by position), '[]') from (
     select position, name, kind, left(result::text, %(step_bound)s + 1) as result, wake_at, error
     from job_steps where job_id = j.id order by position desc limit 200) shown)
from jobs j
where id = %(id)s
