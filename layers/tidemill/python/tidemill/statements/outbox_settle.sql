-- What became of rows: accepted is accepted, whoever says so; only the relay whose attempt is the last one puts a row off or
-- sets it aside.
update outbox o set
  published_at = case when s.word = 'sent' then now() end,
  failed_at = case when s.word = 'failed' then now() end,
  run_at = case when s.word = 'retried' then now() + make_interval(secs => s.delay) else o.run_at end,
  locked_until = null,
  last_error = coalesce(s.error, o.last_error)
from unnest(%(ids)s::bigint[], %(attempts)s::int[], %(words)s::text[], %(delays)s::float8[], %(errors)s::text[])
     as s (id, attempts, word, delay, error)
where o.id = s.id and o.published_at is null and (s.word = 'sent' or o.attempts = s.attempts)
