select row_to_json(shown)
from (
  select name, kind, rule, first_seen, last_slot, last_enqueued_at, last_error
  from schedules
  order by name
  limit 1000) shown
