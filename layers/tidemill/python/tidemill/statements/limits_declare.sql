-- Make limits known, with their sizes and places. A place beyond a limit's size is kept, and no longer taken.
with declared as (
  select * from unnest(%(names)s::text[], %(sizes)s::int[]) as d (name, size) order by name
), written as (
  insert into limits (name, size) select name, size from declared
  on conflict (name) do update set size = excluded.size where limits.size <> excluded.size
)
select d.name, d.size from declared d
where not exists (select from places p where p.limit_name = d.name collate "C" and p.place = d.size - 1)
