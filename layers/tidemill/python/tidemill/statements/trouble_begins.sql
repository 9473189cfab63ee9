-- Troubles that were found outside the watch: those that are new, so that each is told once. The watch (troubles.sql) tells its end.
insert into troubles (name, detail) select * from unnest(%(names)s::text[], %(details)s::text[]) as t (name, detail) order by name
on conflict (name) do nothing
returning name
