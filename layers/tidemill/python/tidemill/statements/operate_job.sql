-- A job, locked until the end of the transaction.
select id, kind, key, freed_key, status, copy_of, event_id from jobs where id = %(id)s for update
