-- Lines of jobs that were inserted since the last look, a little earlier ones included for transactions that commit late.
select limit_name, tenant, priority, (extract(epoch from first_at) * 1000000)::bigint, first_id, newest,
       extract(epoch from first_at - now())::float8,
       limit_name = '' or not exists (select from limits l where l.name = line.limit_name)
from (
  select limit_name, tenant, priority, min(run_at) as first_at, min(id) as first_id, max(id) as newest
  from (select * from jobs where id > %(seen)s - 200 order by id limit 5000) recent
  where status = 'pending' and finished_at is null
  group by limit_name, tenant, priority) line
