-- Which jobs hold these keys.
select j.id, j.kind, j.key, j.freed_key, j.status, j.copy_of, j.event_id
from unnest(%(kinds)s::text[], %(keys)s::text[]) as wanted (kind, key)
join jobs j on j.kind = wanted.kind collate "C" and j.key = wanted.key collate "C"
