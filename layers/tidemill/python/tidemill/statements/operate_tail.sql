-- What has happened behind a place, at most `size` of each sort, in the order of their ids or ends. Of the ids a few below the
-- place are looked at again, for transactions that commit late. What ended within the last second waits for the next look, for
-- the same reason: there is no index on the end of a job, so that it is looked for among the newest jobs, and what failed by
-- its index.
(select 'event', id, received_at, to_jsonb(shown)
 from (
   select id, received_at, source, correlation_id, left(route_error, %(longest)s) as route_error,
          (select count(*) from (select from jobs where event_id = e.id limit 1000) made) as jobs
   from events e
   where id > %(events)s - %(overlap)s and id <> all(%(said_events)s::bigint[])
   order by id
   limit %(size)s) shown)
union all
(select 'attempt', shown.id, at, to_jsonb(shown)
 from (
   select f.id, f.at, f.job_id as job, j.kind, f.attempt, f.error_class, left(f.error, %(longest)s) as error, j.correlation_id,
          j.status = 'failed' and f.attempt = j.attempts as last
   from job_errors f join jobs j on j.id = f.job_id
   where f.id > %(attempts)s - %(overlap)s and f.id <> all(%(said_attempts)s::bigint[])
   order by f.id
   limit %(size)s) shown)
union all
(select 'operation', id, at, to_jsonb(shown)
 from (
   select id, at, by, command, left(arguments::text, %(longest)s) as arguments
   from operations
   where id > %(operations)s - %(overlap)s and id <> all(%(said_operations)s::bigint[])
   order by id
   limit %(size)s) shown)
union all
(select 'job', id, finished_at, to_jsonb(shown)
 from (
   select ended.id, finished_at, kind, status, attempts, error_class, left(last_error, %(longest)s) as error, correlation_id,
          event_id as event
   from (
     select * from (select * from jobs order by id desc limit %(newest)s) recent where status in ('done', 'discarded')
     union all
     select * from jobs where failed_at is not null and failed_at >= %(ended_at)s
   ) ended
   where (finished_at, ended.id) > (%(ended_at)s, %(ended_id)s) and finished_at < now() - interval '1 second'
   order by finished_at, ended.id
   limit %(size)s) shown)
