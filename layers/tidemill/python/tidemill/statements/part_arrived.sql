-- A part of a parked delivery; one that is here already, or whose delivery is stored, makes no difference.
insert into parked_parts (token, part, of, data)
select %(token)s, %(part)s, %(of)s, %(data)s
where not exists (select from parked where token = %(token)s)
on conflict (token, part) do nothing
