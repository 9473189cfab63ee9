-- Return jobs whose lease ran out to their lines, with backoff, or end those that have used up their attempts. State and
-- lease are checked again on the locked row, so a job that was settled or claimed meanwhile is left alone. A kind that is
-- not among the known ones waits a minute, no attempt used. One that was sent out is sent anew.
with expired as (
  select j.id, known.kind is not null as known, coalesce(j.max_attempts, known.max_attempts, 1) as budget
  from jobs j
  left join unnest(%(kinds)s::text[], %(max_attempts)s::int[]) as known (kind, max_attempts) on known.kind = j.kind collate "C"
  where j.finished_at is null and j.status = 'running' and j.locked_until < now()
  order by j.id
  limit %(size)s
  for update of j skip locked
), reaped as (
  update jobs j set
    expiries = j.expiries + 1,
    attempts = case when e.known then j.attempts else j.attempts - 1 end,
    status = case when e.known and j.attempts >= e.budget then 'failed' else 'pending' end,
    finished_at = case when e.known and j.attempts >= e.budget then now() end,
    first_failed_at = coalesce(j.first_failed_at, now()),
    run_at = now() + make_interval(secs => case
      when e.known then least(10 * 2.0 ^ (least(j.attempts, 20) - 1), 3600) * (1 - 0.2 * random()) else 60 end),
    locked_until = null,
    sent_at = null,
    unknown_since = case when not e.known then coalesce(j.unknown_since, now()) end,
    error_class = 'LeaseExpired',
    last_error = 'lease expired ' || (j.expiries + 1) || ' times'
  from expired e
  where j.id = e.id
  returning j.id, j.kind, j.status, j.attempts, j.error_class, j.last_error, j.correlation_id, j.worker, e.known
), recorded as (
  insert into job_errors (job_id, attempt, worker, error_class, error)
  select id, attempts, worker, error_class, last_error from reaped where known
)
select id, kind, status, attempts, error_class, last_error, correlation_id from reaped order by id
