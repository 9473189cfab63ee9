-- A new job that does a finished one again, under another key, since a finished job keeps its own. A payload is what today's
-- route says in place of what the finished one had. No row: another job holds the key.
insert into jobs (kind, payload, key, run_at, max_attempts, tenant, priority, limit_name, event_id, correlation_id, slot,
                  previous_slot, copy_of)
select kind, coalesce(%(payload)s::jsonb, payload), %(key)s::text,
       coalesce(%(run_at)s::timestamptz, now() + make_interval(secs => %(delay)s)),
       case when %(payload)s::jsonb is null then max_attempts else %(max_attempts)s::int end,
       coalesce(%(tenant)s::text, tenant), coalesce(%(priority)s::smallint, priority), %(limit_name)s,
       coalesce(%(event_id)s::bigint, event_id), coalesce(%(correlation_id)s::text, correlation_id), slot, previous_slot,
       coalesce(copy_of, id)
from jobs
where id = %(id)s
on conflict (kind, key) where key is not null do nothing
returning id
