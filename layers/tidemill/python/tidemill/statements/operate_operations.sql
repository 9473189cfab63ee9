-- Who did what, the latest first, from behind a place in that order.
select row_to_json(shown)
from (
  select id, at, by, command, arguments, outcome
  from operations
  where %(after_id)s::bigint is null or id < %(after_id)s::bigint
  order by id desc
  limit %(size)s) shown
