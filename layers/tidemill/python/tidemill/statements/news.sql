-- Lines of jobs that were inserted since the last look, a little earlier ones included for transactions that commit late.
select limit_name, tenant, priority, min((extract(epoch from run_at) * 1000000)::bigint), min(id), max(id),
       min(extract(epoch from run_at - now()))::float8,
       limit_name = '' or not exists (select from limits l where l.name = recent.limit_name)
from (select * from jobs where id > %(seen)s - 200 order by id limit 5000) recent
where status = 'pending' and finished_at is null
group by limit_name, tenant, priority
