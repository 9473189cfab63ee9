-- Deliveries that were parked, as receive.sql stores one, and each noted under its token. What is noted already was stored by a
-- run before; and without a dedup key the token tells what the intake itself had stored, when it lost the answer. The caller
-- gives each (source, dedup_key) once. A statement that does the same at this moment makes this one fail, and the next see it.
with given as (
  select *
  from unnest(%(ids)s::bigint[], %(sources)s::text[], %(dedup_keys)s::text[], %(headers)s::jsonb[], %(bodies)b::bytea[],
              %(received_ats)s::timestamptz[], %(correlation_ids)s::text[], %(route_errors)s::text[], %(tokens)s::text[])
    as n(id, source, dedup_key, headers, body, received_at, correlation_id, route_error, token)
),
known as (
  select p.token, p.event_id as id from given g join parked p on p.token = g.token
),
taken as (
  select g.token, e.id from given g join events e on e.token = g.token and e.dedup_key is null and g.dedup_key is null
),
new as (
  select * from given
  where token not in (select token from known) and token not in (select token from taken)
),
arrived as (
  insert into events as e (id, source, dedup_key, headers, body, received_at, correlation_id, route_error, token)
  overriding system value
  select event_number(id), source, dedup_key, headers, body, received_at, correlation_id, route_error, token
  from new
  order by source collate "C", dedup_key collate "C"
  on conflict (source, dedup_key) where dedup_key is not null do update set
    redeliveries = e.redeliveries + (e.token is distinct from excluded.token)::int,
    mismatches = e.mismatches + (e.body <> excluded.body)::int,
    redelivered_at = case when e.token is distinct from excluded.token then now() else e.redelivered_at end
  returning id, source, dedup_key, body, token, xmax = 0 as inserted
),
stored as (
  select n.token, a.id, a.inserted, a.token is distinct from n.token as duplicate, a.body <> n.body as differs,
         n.correlation_id
  from new n join arrived a on a.source = n.source and case when n.dedup_key is null then a.token = n.token
                                                            else a.dedup_key = n.dedup_key end
),
noted as (
  insert into parked (token, event_id)
  select token, id from stored union all select token, id from taken where token not in (select token from known)
),
created as (
  insert into jobs (kind, payload, key, run_at, max_attempts, tenant, priority, limit_name, event_id, correlation_id)
  select n.kind, coalesce(n.payload, 'null'), n.key, coalesce(n.run_at, now() + make_interval(secs => n.delay)), n.max_attempts, n.tenant,
         n.priority, n.limit_name, s.id, s.correlation_id
  from json_to_recordset(%(jobs)s) as one(token text, jobs json) join stored s on s.token = one.token and s.inserted
  cross join lateral rows from (json_to_recordset(one.jobs) as (
    kind text, payload jsonb, key text, run_at timestamptz, delay float8, max_attempts int, tenant text, priority smallint,
    limit_name text)) with ordinality
    as n(kind, payload, key, run_at, delay, max_attempts, tenant, priority, limit_name, position)
  order by n.kind collate "C", coalesce(n.key, '') collate "C", s.id, n.position
  on conflict (kind, key) where key is not null do nothing
  returning event_id
),
signalled as (
  insert into signals (name, payload)
  select n.name, n.payload
  from unnest(%(signal_tokens)s::text[], %(signal_names)s::text[], %(signal_payloads)s::jsonb[]) with ordinality
    as n(token, name, payload, position)
  join stored s on s.token = n.token and s.inserted
  order by n.name collate "C", n.position
  on conflict (name) do nothing
  returning 1
)
select g.token, coalesce(s.id, k.id, t.id), s.token is null, coalesce(s.duplicate, false), coalesce(s.differs, false),
       (select count(*) from created where event_id = s.id), (select count(*) from signalled)
from given g left join stored s using (token) left join known k using (token) left join taken t using (token)
