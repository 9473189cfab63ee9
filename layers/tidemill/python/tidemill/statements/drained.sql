-- A drain has come to its end: a sign of life, and the failed jobs of which it has told somebody.
with told as (
  update jobs set alerted_at = now() where id = any(%(told)s::bigint[]) and failed_at is not null
)
insert into pulses (name, at) values (%(name)s, now())
on conflict (name) do update set at = excluded.at
