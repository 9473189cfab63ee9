-- End attempts in any way: each row only where its claim is still the worker's. A job that is sent out goes to the outbox in
-- the same moment.
with outcome as (
  select * from unnest(
    %(ids)s::bigint[], %(claims)s::bigint[], %(statuses)s::text[], %(delays)s::float8[], %(unused)s::int[],
    %(error_classes)s::text[], %(errors)s::text[], %(results)s::jsonb[], %(limit_names)s::text[], %(unknown)s::bool[],
    %(sent)s::bool[])
    as o (id, claim_id, status, delay, unused, error_class, error, result, limit_name, unknown, sent)
), settled as (
  update jobs j set
    status = o.status,
    attempts = j.attempts - o.unused,
    run_at = case when o.delay is null then j.run_at else now() + make_interval(secs => o.delay) end,
    locked_until = null,
    finished_at = case when o.status <> 'pending' then now() end,
    first_failed_at = case when o.error is not null and o.unused = 0 then coalesce(j.first_failed_at, now())
                      else j.first_failed_at end,
    unknown_since = case when o.unknown then coalesce(j.unknown_since, now()) end,
    error_class = coalesce(o.error_class, j.error_class),
    last_error = coalesce(o.error, j.last_error),
    result = coalesce(o.result, j.result),
    limit_name = coalesce(o.limit_name, j.limit_name),
    sent_at = case when o.sent is null then j.sent_at when o.sent then now() end
  from outcome o
  -- `case` hides from the planner how rare running jobs are in its statistics: it would read the whole table for the one that
  -- it expects, and compare each of those that it finds with each outcome.
  where j.id = o.id and j.claim_id = o.claim_id and case when j.status = 'running' then true end
  returning j.id, j.attempts, j.worker, o.status, o.unused, o.error_class, o.error, o.sent, j.correlation_id
), recorded as (
  insert into job_errors (job_id, attempt, worker, error_class, error, log_stream, request_id)
  select id, attempts, worker, error_class, error, %(log_stream)s, %(request_id)s
  from settled
  where error is not null and unused = 0 and status in ('pending', 'failed')
), sent_out as (
  insert into outbox (topic, payload, attributes)
  select 'jobs', jsonb_build_object('job', id), jsonb_build_object('correlation_id', coalesce(correlation_id, ''))
  from settled where sent
)
select id from settled
