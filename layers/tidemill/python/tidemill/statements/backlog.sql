-- What waits and what runs, without reading more of a table than it must: a loose scan jumps from line to line, and of each
-- line only the first rows that are due are counted. A job waits if it could be claimed: not a retry that is parked until
-- later, nor one under a limit that is paused.
with recursive line as (
  (select limit_name, tenant, priority from jobs where finished_at is null order by limit_name, tenant, priority limit 1)
  union all
  select next.* from line cross join lateral (
    select limit_name, tenant, priority from jobs
    where finished_at is null and (limit_name, tenant, priority) > (line.limit_name, line.tenant, line.priority)
    order by limit_name, tenant, priority limit 1) next
), open_line as (
  select line.*, not exists (select from limits l where l.name = line.limit_name and l.paused_until > now()) as moves
  from line
), oldest as (
  select min(first.run_at) as run_at
  from open_line line cross join lateral (
    select run_at from jobs
    where finished_at is null and status = 'pending' and run_at <= now()
      and limit_name = line.limit_name and tenant = line.tenant and priority = line.priority
    order by run_at limit 1) first
  where line.moves
), due as (
  select first.status, line.moves
  from open_line line cross join lateral (
    select status from jobs
    where finished_at is null and run_at <= now()
      and limit_name = line.limit_name and tenant = line.tenant and priority = line.priority
    order by run_at, id limit %(most)s) first
  limit 5 * %(most)s
)
select coalesce((select extract(epoch from now() - run_at) from oldest), 0)::float8,
       count(*) filter (where status = 'pending' and moves),
       count(*) filter (where status = 'running'),
       (select count(*) from (select from jobs where failed_at is not null limit %(most)s) failed)
from due
