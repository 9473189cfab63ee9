-- As in prune_jobs.sql: signals that came long ago, whether or not anybody waited for them.
with place as (
  select walked_to from pruning where table_name = 'signals' for update skip locked
), step as (
  select id, received_at from signals where id > (select walked_to from place) order by id limit %(size)s
), gone as (
  delete from signals
  where id = any(array(select id from step)) and received_at < now() - make_interval(secs => %(seconds)s)
  returning id
), walked as (
  select count(*) = %(size)s and bool_and(received_at < now() - make_interval(secs => %(seconds)s)) as more, max(id) as last
  from step
), moved as (
  update pruning set walked_to = case when walked.more then walked.last else 0 end
  from walked where table_name = 'signals' and exists (select from place)
)
select (select count(*) from gone), more from walked
