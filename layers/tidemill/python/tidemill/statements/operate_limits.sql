-- The limits: places that a lease is on, and until when nothing is started.
select row_to_json(shown)
from (
  select name, size,
         (select count(*) from places p where p.limit_name = l.name and p.locked_until > now()) as used,
         case when paused_until > now() then paused_until end as paused_until
  from limits l
  order by name
  limit 1000) shown
