-- Keep the signals of a replayed event; of each name the first one counts.
insert into signals (name, payload)
select n.name, n.payload
from unnest(%(signal_names)s::text[], %(signal_payloads)s::jsonb[]) with ordinality as n(name, payload, position)
order by n.position
on conflict (name) do nothing
