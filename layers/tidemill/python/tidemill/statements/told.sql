-- Somebody has been told that these jobs failed; without this the watch tells it again.
update jobs set alerted_at = now() where id = any(%(ids)s::bigint[]) and failed_at is not null
