-- An event's jobs, locked until the end of the transaction.
select id, kind, key, freed_key, status, copy_of, event_id from jobs where event_id = %(id)s order by id for update
