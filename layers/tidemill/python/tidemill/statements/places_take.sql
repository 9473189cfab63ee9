-- Take free places of limits that are not paused, as many as wanted of each. A place is free when nobody's lease is on it.
update places p set holder = %(holder)s, locked_until = now() + make_interval(secs => %(lease)s)
from (
  select free.limit_name, free.place
  from unnest(%(names)s::text[], %(wanted)s::int[]) as want (name, wanted)
  join limits l on l.name = want.name collate "C" and (l.paused_until is null or l.paused_until <= now())
  cross join lateral (
    select limit_name, place from places
    where limit_name = l.name and place < l.size and (locked_until is null or locked_until < now())
    order by place limit want.wanted for update skip locked) free) taken
where p.limit_name = taken.limit_name and p.place = taken.place
returning p.limit_name, p.place
