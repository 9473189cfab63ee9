-- Which lines have waiting jobs, each with its first one: a loose scan, which jumps from line to line on the open index.
-- `<> 'running'` and not `= 'pending'`, which is the same among open jobs: on a table that was never analysed the planner
-- takes the latter for so rare that it reads and sorts the whole rest of the index for each line.
-- The last column says that the line is under no limit, or under one that nobody has declared.
with recursive line as (
  (select limit_name, tenant, priority, run_at, id from jobs
   where finished_at is null and status <> 'running'
   order by limit_name, tenant, priority, run_at, id limit 1)
  union all
  select next.* from line cross join lateral (
    select limit_name, tenant, priority, run_at, id from jobs
    where finished_at is null and status <> 'running'
      and (limit_name, tenant, priority) > (line.limit_name, line.tenant, line.priority)
    order by limit_name, tenant, priority, run_at, id limit 1) next
)
select limit_name, tenant, priority, (extract(epoch from run_at) * 1000000)::bigint, id,
       extract(epoch from run_at - now())::float8,
       limit_name = '' or not exists (select from limits l where l.name = line.limit_name)
from line
