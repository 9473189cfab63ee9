-- Write an operation, or, where it was written before, what has come of it by now.
with again as (
  update operations set outcome = %(outcome)s::jsonb where id = %(id)s::bigint returning id
), first as (
  insert into operations (by, command, arguments, outcome)
  select %(by)s, %(command)s, %(arguments)s::jsonb, %(outcome)s::jsonb where not exists (select from again)
  returning id
)
select id from again union all select id from first
