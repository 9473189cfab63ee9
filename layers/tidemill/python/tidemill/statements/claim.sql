-- Settle what is done and claim what is next: one statement, one round trip.
--
-- An entry is a tenant under a limit ('' for none); its lines are the priorities from lo to hi of the line arrays, the
-- most urgent first, each with a watermark (run_at in microseconds, id) behind which everything was claimed already.
-- Starting there is what keeps a claim cheap when dead index entries pile up at the head of a line under an open snapshot.
-- An entry takes up to its share. What is under limits is claimed by claim_limited.sql, which is this and what limits need:
-- to plan that costs as much again, and most claims are without.
with settled as (
  update jobs set status = 'done', locked_until = null, finished_at = now(), unknown_since = null
  where id = any(%(done)s::bigint[]) and status = 'running' and claim_id = any(%(done_claims)s::bigint[])
  returning id
), taken as (
  update jobs j
  set status = 'running', attempts = attempts + 1, started_at = now(), claim_id = %(claim_id)s, worker = %(worker)s,
      locked_until = now() + make_interval(secs => %(lease)s)
  where j.id = any(array(
    select x.id
    from unnest(%(limit_names)s::text[], %(tenants)s::text[], %(shares)s::int[], %(lo)s::int[], %(hi)s::int[])
           as entry (limit_name, tenant, share, lo, hi)
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
      limit entry.share) x
    limit %(size)s))
  returning id, kind, payload, attempts, max_attempts, key, event_id, correlation_id, tenant, slot, previous_slot,
            limit_name, expiries, claim_id, priority, (date_part('epoch', run_at) * 1000000)::bigint,
            unknown_since is not null and unknown_since < now() - interval '1 day'
)
select (select case when count(*) < cardinality(%(done)s::bigint[]) then array_agg(id) end from settled),
       (select count(*) from settled), taken.*
from (values (1)) one left join taken on true
