-- An event, locked until the end of the transaction, so that two replays of it go one after the other.
select id, source, headers, body, received_at, correlation_id from events where id = %(id)s for update
