-- As receive.sql, for an event with signals, or one whose route has asked for its id, of which there are few: planning this for
-- every event would cost each a third more. But for those two the statements are one text (a test holds that).
with arrived as (
  insert into events as e (id, source, dedup_key, headers, body, received_at, correlation_id, route_error, token)
  overriding system value
  values (event_number(%(id)s), %(source)s, %(dedup_key)s, %(headers)s::jsonb, %(body)b, %(received_at)s,
          %(correlation_id)s, %(route_error)s, %(token)s)
  on conflict (source, dedup_key) where dedup_key is not null do update set
    redeliveries = e.redeliveries + (e.token is distinct from excluded.token)::int,
    mismatches = e.mismatches + (e.body <> excluded.body)::int,
    redelivered_at = case when e.token is distinct from excluded.token then now() else e.redelivered_at end
  returning id, token, xmax = 0 as inserted, body <> %(body)b as differs
),
created as (
  insert into jobs (kind, payload, key, run_at, max_attempts, tenant, priority, limit_name, event_id, correlation_id)
  select n.kind, coalesce(n.payload, 'null'), n.key, coalesce(n.run_at, now() + make_interval(secs => n.delay)), n.max_attempts, n.tenant,
         n.priority, n.limit_name, arrived.id, %(correlation_id)s
  from arrived, rows from (json_to_recordset(%(jobs)s) as (
    kind text, payload jsonb, key text, run_at timestamptz, delay float8, max_attempts int, tenant text, priority smallint,
    limit_name text)) with ordinality
    as n(kind, payload, key, run_at, delay, max_attempts, tenant, priority, limit_name, position)
  where arrived.inserted
  order by n.position
  on conflict (kind, key) where key is not null do nothing
  returning 1
),
signalled as (
  insert into signals (name, payload)
  select n.name, n.payload
  from arrived, unnest(%(signal_names)s::text[], %(signal_payloads)s::jsonb[]) with ordinality as n(name, payload, position)
  where arrived.inserted
  order by n.position
  on conflict (name) do nothing
  returning 1
)
select id, token, token is distinct from %(token)s, differs,
       case when inserted then (select count(*) from created) end,
       (select count(*) from signalled)
from arrived
