-- As in prune_jobs.sql: old records of what operators did.
with place as (
  select walked_to from pruning where table_name = 'operations' for update skip locked
), step as (
  select id, at from operations where id > (select walked_to from place) order by id limit %(size)s
), gone as (
  delete from operations
  where id = any(array(select id from step)) and at < now() - make_interval(secs => %(seconds)s)
  returning id
), walked as (
  select count(*) = %(size)s and bool_and(at < now() - make_interval(secs => %(seconds)s)) as more, max(id) as last
  from step
), moved as (
  update pruning set walked_to = case when walked.more then walked.last else 0 end
  from walked where table_name = 'operations' and exists (select from place)
)
select (select count(*) from gone), more from walked
