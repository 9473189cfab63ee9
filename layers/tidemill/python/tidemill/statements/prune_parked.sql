-- As in prune_jobs.sql: notes of parked deliveries whose event is gone, when no queue can bring them again (14 days).
with place as (
  select walked_to from pruning where table_name = 'parked' for update skip locked
), step as (
  select id, event_id, stored_at from parked where id > (select walked_to from place) order by id limit %(size)s
), gone as (
  delete from parked p
  where id = any(array(select id from step))
    and stored_at < now() - make_interval(secs => greatest(%(seconds)s, 15 * 86400))
    and not exists (select from events where id = p.event_id)
  returning id
), walked as (
  select count(*) = %(size)s and bool_and(stored_at < now() - make_interval(secs => greatest(%(seconds)s, 15 * 86400))) as more,
         max(id) as last
  from step
), moved as (
  update pruning set walked_to = case when walked.more then walked.last else 0 end
  from walked where table_name = 'parked' and exists (select from place)
)
select (select count(*) from gone), more from walked
