-- What the watch looks at beside the backlog: seconds since a drain came to its end (null: never), and the sources that have
-- refused a number of deliveries in the last two hours and taken none since then; what came to no source (404), or was no POST
-- (405), is no delivery. Only the newest events are looked at.
select (select extract(epoch from now() - at) from pulses where name = 'drain')::float8,
       coalesce((
         select jsonb_object_agg(r.source, r.count)
         from (
           select source, sum(count) as count from rejections
           where hour >= date_trunc('hour', now(), 'UTC') - interval '1 hour'
             and sample->>'status' is distinct from '404' and sample->>'status' is distinct from '405'
           group by source having sum(count) >= %(rejections)s) r
         where not exists (
           select from (select source, received_at, redelivered_at from events order by id desc limit 10000) e
           where e.source = r.source
             and greatest(e.received_at, e.redelivered_at) >= date_trunc('hour', now(), 'UTC') - interval '1 hour')), '{}')
