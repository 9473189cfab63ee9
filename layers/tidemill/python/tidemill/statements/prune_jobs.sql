-- Walk a step of the table by its primary key, from where the last step ended, and delete what has been finished for long;
-- failed jobs stay. Ids follow creation, so the walk starts over at rows that are too young to have been finished for long.
-- One walks at a time: for another the place is locked, and it finds nothing.
with place as (
  select walked_to from pruning where table_name = 'jobs' for update skip locked
), step as (
  select id, created_at from jobs where id > (select walked_to from place) order by id limit %(size)s
), gone as (
  delete from jobs
  where id = any(array(select id from step)) and status in ('done', 'discarded')
    and finished_at < now() - make_interval(secs => %(seconds)s)
  returning id
), walked as (
  select count(*) = %(size)s and bool_and(created_at < now() - make_interval(secs => %(seconds)s)) as more, max(id) as last
  from step
), moved as (
  update pruning set walked_to = case when walked.more then walked.last else 0 end
  from walked where table_name = 'jobs' and exists (select from place)
)
select (select count(*) from gone), more from walked
