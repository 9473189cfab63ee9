-- Make schedules known that are seen for the first time, and read what is known of all. A row that another tick is inserting
-- at this moment is not among them: that tick sees to it.
with added as (
  insert into schedules (name, kind, rule)
  select * from unnest(%(names)s::text[], %(kinds)s::text[], %(rules)s::text[])
  on conflict (name) do nothing
  returning *
)
select name, kind, rule, greatest(first_seen, last_slot), alerted_at is not null, now()
from (select * from added union all select * from schedules where name = any(%(names)s::text[] collate "C")) seen
