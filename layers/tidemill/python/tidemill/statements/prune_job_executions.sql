-- As in prune_jobs.sql: keys of the once ledger, which from then on are new again.
with place as (
  select walked_to from pruning where table_name = 'job_executions' for update skip locked
), step as (
  select id, started_at from job_executions where id > (select walked_to from place) order by id limit %(size)s
), gone as (
  delete from job_executions
  where id = any(array(select id from step))
    and coalesce(completed_at, locked_until) < now() - make_interval(secs => %(seconds)s)
  returning id
), walked as (
  select count(*) = %(size)s and bool_and(started_at < now() - make_interval(secs => %(seconds)s)) as more, max(id) as last
  from step
), moved as (
  update pruning set walked_to = case when walked.more then walked.last else 0 end
  from walked where table_name = 'job_executions' and exists (select from place)
)
select (select count(*) from gone), more from walked
