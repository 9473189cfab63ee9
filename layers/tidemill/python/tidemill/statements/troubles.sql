-- Compare what is wrong now with what has been told: each trouble is told once, by one tick, and its end too.
with present as (
  select * from unnest(%(names)s::text[], %(details)s::text[]) as p (name, detail)
), begun as (
  insert into troubles (name, detail) select name, detail from present order by name
  on conflict (name) do nothing
  returning name
), over as (
  delete from troubles t where not exists (select from present p where p.name = t.name collate "C") returning name, since
)
select name, null::float8 from begun
union all
select name, extract(epoch from now() - since)::float8 from over
