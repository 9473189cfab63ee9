-- How many jobs an event has made.
select count(*) from jobs where event_id = %(id)s
