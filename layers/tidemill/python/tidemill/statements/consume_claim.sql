-- Claim jobs that were sent out, by their ids. One that is out is due a day before its run_at. One under a limit needs a place
-- of the worker's.
update jobs j
set status = 'running', attempts = attempts + 1, started_at = now(), claim_id = %(claim_id)s, worker = %(worker)s,
    locked_until = case when limit_name = '' then now() + make_interval(secs => %(lease)s)
                   else (select min(p.locked_until) from places p
                         where p.limit_name = j.limit_name and p.holder = %(holder)s and p.locked_until > now()) end
where j.id = any(array(
  select id from jobs waiting
  where id = any(%(ids)s::bigint[]) and finished_at is null and status = 'pending' and sent_at is not null
    and run_at <= now() + interval '1 day'
    and (limit_name = ''
         or exists (select from places p where p.limit_name = waiting.limit_name and p.holder = %(holder)s
                      and p.locked_until > now() + interval '1 second')
            and not exists (select from limits l where l.name = waiting.limit_name and l.paused_until > now()))
  order by id
  for update skip locked))
returning id, kind, payload, attempts, max_attempts, key, event_id, correlation_id, tenant, slot, previous_slot,
          limit_name, expiries, claim_id, priority, (date_part('epoch', run_at) * 1000000)::bigint,
          unknown_since is not null and unknown_since < now() - interval '1 day'
