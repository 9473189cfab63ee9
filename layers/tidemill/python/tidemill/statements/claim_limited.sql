-- claim.sql where entries are under limits: such a one takes jobs only while its limit is not paused and while the worker's
-- places are still as many as it believes, since a place whose lease ran out may be another's by now.
with settled as (
  update jobs set status = 'done', locked_until = null, finished_at = now(), unknown_since = null
  where id = any(%(done)s::bigint[]) and status = 'running' and claim_id = any(%(done_claims)s::bigint[])
  returning id
), taken as (
  update jobs j
  set status = 'running', attempts = attempts + 1, started_at = now(), claim_id = %(claim_id)s, worker = %(worker)s,
      -- Under a limit that nobody has declared there are no places, and the job must have a lease all the same.
      locked_until = case when limit_name = '' then now() + make_interval(secs => %(lease)s)
                     else coalesce((select min(p.locked_until) from places p
                                    where p.limit_name = j.limit_name and p.holder = %(holder)s and p.locked_until > now()),
                                   now() + make_interval(secs => %(lease)s)) end
  where j.id = any(array(
    select x.id
    from unnest(%(limit_names)s::text[], %(tenants)s::text[], %(shares)s::int[], %(held)s::int[], %(lo)s::int[], %(hi)s::int[])
           as entry (limit_name, tenant, share, held, lo, hi)
    cross join lateral (
      select y.id
      from generate_series(entry.lo, entry.hi) line
      cross join lateral (
        select id from jobs
        where finished_at is null and status = 'pending' and run_at <= now()
          and limit_name = entry.limit_name collate "C" and tenant = entry.tenant collate "C"
          and priority = (%(priorities)s::smallint[])[line]
          and (run_at, id) > (timestamptz 'epoch' + (%(mark_times)s::bigint[])[line] * interval '1 microsecond',
                              (%(mark_ids)s::bigint[])[line])
        order by run_at, id
        limit entry.share
        for update skip locked) y
      where entry.held = 0 or (
        entry.held <= (select count(*) from places p where p.limit_name = entry.limit_name collate "C"
                         and p.holder = %(holder)s and p.locked_until > now() + make_interval(secs => %(lease)s / 4))
        and not exists (select from limits l where l.name = entry.limit_name collate "C" and l.paused_until > now()))
      limit entry.share) x
    limit %(size)s))
  returning id, kind, payload, attempts, max_attempts, key, event_id, correlation_id, tenant, slot, previous_slot,
            limit_name, expiries, claim_id, priority, (date_part('epoch', run_at) * 1000000)::bigint,
            unknown_since is not null and unknown_since < now() - interval '1 day'
)
select (select case when count(*) < cardinality(%(done)s::bigint[]) then array_agg(id) end from settled),
       (select count(*) from settled), taken.*
from (values (1)) one left join taken on true
