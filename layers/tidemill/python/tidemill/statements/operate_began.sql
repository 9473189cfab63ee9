-- The bounds of a bulk command: what comes later is not its business, so that it ends.
select now(), (select coalesce(max(id), 0) from events)
