-- How many jobs stand how, never looking at more than `most` of a sort: what is open and what failed by their partial indexes,
-- what is done or discarded among the newest jobs.
with open as materialized (
  select kind, status, status = 'pending' and run_at <= now() as ready from jobs
  where finished_at is null
  order by limit_name, tenant, priority, run_at, id
  limit %(most)s + 1
), failed as materialized (
  select kind from jobs where failed_at is not null order by failed_at desc, id desc limit %(most)s + 1
), newest as materialized (
  select status from jobs order by id desc limit %(most)s + 1
), unrouted as materialized (
  select from events where route_error is not null order by id limit %(most)s + 1
)
select 'open', kind, status, ready, count(*) from open group by kind, status, ready
union all select 'failed', kind, 'failed', false, count(*) from failed group by kind
union all select 'newest', '', status, false, count(*) from newest group by status
union all select 'unrouted', '', '', false, count(*) from unrouted
