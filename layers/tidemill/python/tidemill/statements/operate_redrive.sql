-- Failed jobs back to their lines: a fresh budget, no claim, today's limit. What is told of their failures stays: last_error,
-- error_class, first_failed_at, job_errors. A row with a payload takes what today's route says in place of what it had.
update jobs j set
  status = 'pending', attempts = 0, expiries = 0, unknown_since = null,
  locked_until = null, claim_id = null, worker = null, started_at = null, finished_at = null, sent_at = null, alerted_at = null,
  run_at = coalesce(w.run_at, now() + make_interval(secs => w.delay)),
  limit_name = w.limit_name,
  payload = coalesce(w.payload, j.payload),
  max_attempts = case when w.payload is null then j.max_attempts else w.max_attempts end,
  tenant = coalesce(w.tenant, j.tenant),
  priority = coalesce(w.priority, j.priority),
  first_failed_at = coalesce(j.first_failed_at, j.failed_at),
  redriven_at = now()
from unnest(%(ids)s::bigint[], %(limit_names)s::text[], %(payloads)s::jsonb[], %(run_ats)s::timestamptz[], %(delays)s::float8[],
            %(max_attempts)s::int[], %(tenants)s::text[], %(priorities)s::smallint[])
     as w (id, limit_name, payload, run_at, delay, max_attempts, tenant, priority)
where j.id = w.id and j.status = 'failed'
returning j.id
