-- The delivery is stored: its parts are no longer needed.
delete from parked_parts where token = any(%(tokens)s)
