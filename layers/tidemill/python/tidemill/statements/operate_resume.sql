-- The old value is the pause that this ends, null where it was over or there was none.
update limits l set paused_until = null
from (select name, paused_until from limits where name = %(name)s::text collate "C" for update) old
where l.name = old.name
returning to_json(case when old.paused_until > now() then old.paused_until end)
