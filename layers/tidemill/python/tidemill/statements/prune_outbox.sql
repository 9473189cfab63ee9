-- As in prune_jobs.sql: rows of the outbox that were accepted; what was set aside or waits stays.
with place as (
  select walked_to from pruning where table_name = 'outbox' for update skip locked
), step as (
  select id, created_at from outbox where id > (select walked_to from place) order by id limit %(size)s
), gone as (
  delete from outbox
  where id = any(array(select id from step)) and published_at < now() - make_interval(secs => %(seconds)s)
  returning id
), walked as (
  select count(*) = %(size)s and bool_and(created_at < now() - make_interval(secs => %(seconds)s)) as more, max(id) as last
  from step
), moved as (
  update pruning set walked_to = case when walked.more then walked.last else 0 end
  from walked where table_name = 'outbox' and exists (select from place)
)
select (select count(*) from gone), more from walked
