-- Take rows that are due: up to a number, and up to about so many bytes, so that they fit into memory. What is too large to
-- be sent at all comes without its payload.
with due as (
  select id, octet_length(payload::text) + octet_length(attributes::text) as bytes from outbox
  where published_at is null and failed_at is null and run_at <= now() and (locked_until is null or locked_until < now())
  order by run_at, id
  limit %(size)s
  for update skip locked
), counted as (
  select id, bytes, sum(least(bytes, %(largest)s)) over (order by id) - least(bytes, %(largest)s) as before from due
)
update outbox o set attempts = attempts + 1, locked_until = now() + make_interval(secs => %(lease)s)
from counted c
where o.id = c.id and c.before < %(bytes)s
returning o.id, o.topic, o.attempts, o.attributes, case when c.bytes <= %(largest)s then o.payload::text end
