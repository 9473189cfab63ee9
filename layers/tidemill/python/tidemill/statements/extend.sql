-- Extend the leases of jobs that are still the worker's; one under a limit no further than the places it runs on.
update jobs j
set locked_until = case when limit_name = '' then now() + make_interval(secs => %(lease)s)
                   else coalesce((select min(p.locked_until) from places p
                                  where p.limit_name = j.limit_name and p.holder = %(holder)s and p.locked_until > now()),
                                 j.locked_until) end
where id = any(%(ids)s::bigint[]) and status = 'running' and claim_id = any(%(claims)s::bigint[])
returning id
