-- Insert one job, or say which job holds its key. No row at all means that the holder's transaction was not yet committed
-- when this statement began: run it again.
with created as (
  insert into jobs (kind, payload, key, run_at, max_attempts, tenant, priority, limit_name, event_id, correlation_id)
  values (%(kind)s, %(payload)s::jsonb, %(key)s, coalesce(%(run_at)s, now() + make_interval(secs => %(delay)s)),
          %(max_attempts)s, %(tenant)s, %(priority)s, %(limit_name)s, %(event_id)s, %(correlation_id)s)
  on conflict (kind, key) where key is not null do nothing
  returning id, status
)
select id, true, status from created
union all
select id, false, status from jobs
where kind = %(kind)s and key = %(key)s::text and not exists (select from created)
