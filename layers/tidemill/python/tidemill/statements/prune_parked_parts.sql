-- As in prune_jobs.sql: parts whose others never came, when no queue can bring them any more (14 days).
with place as (
  select walked_to from pruning where table_name = 'parked_parts' for update skip locked
), step as (
  select id, arrived_at from parked_parts where id > (select walked_to from place) order by id limit %(size)s
), gone as (
  delete from parked_parts
  where id = any(array(select id from step))
    and arrived_at < now() - make_interval(secs => greatest(%(seconds)s, 15 * 86400))
  returning id
), walked as (
  select count(*) = %(size)s and bool_and(arrived_at < now() - make_interval(secs => greatest(%(seconds)s, 15 * 86400))) as more,
         max(id) as last
  from step
), moved as (
  update pruning set walked_to = case when walked.more then walked.last else 0 end
  from walked where table_name = 'parked_parts' and exists (select from place)
)
select (select count(*) from gone), more from walked
