insert into places (limit_name, place)
select name, place from unnest(%(names)s::text[], %(sizes)s::int[]) as d (name, size), generate_series(0, size - 1) place
order by name, place
on conflict do nothing
