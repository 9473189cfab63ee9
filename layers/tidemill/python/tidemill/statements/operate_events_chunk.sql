-- The next chunk of events to replay, in the order of their arrival, of those that were there when the command began.
select id
from events
where id > %(after)s and id <= %(last)s
  and (%(source)s::text is null or source = %(source)s::text collate "C")
  and (%(since)s::timestamptz is null or received_at >= %(since)s)
  and (%(until)s::timestamptz is null or received_at < %(until)s)
  and (not %(unrouted)s or route_error is not null)
order by id
limit %(size)s
