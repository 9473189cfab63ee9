update places p set holder = null, locked_until = null
from unnest(%(names)s::text[], %(places)s::int[]) as mine (name, place)
where p.limit_name = mine.name collate "C" and p.place = mine.place and p.holder = %(holder)s
