-- Counts of hours long past. They are bounded in each hour and found in order, so that no walk is needed.
with gone as (
  delete from rejections
  where ctid = any(array(
    select ctid from rejections where hour < now() - make_interval(secs => %(seconds)s)
    order by hour limit %(size)s for update skip locked))
  returning id
)
select count(*), count(*) = %(size)s from gone
