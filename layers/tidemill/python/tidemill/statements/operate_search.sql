-- Jobs and events with an id or a correlation id. The second is looked for among the newest only, by primary key: an index
-- for it would cost each insert something, for a question that is seldom asked.
with newest_jobs as (
  select id, kind, status, event_id, correlation_id, created_at from jobs order by id desc limit %(newest)s
), newest_events as (
  select id, source, received_at, route_error, correlation_id from events order by id desc limit %(newest)s
)
select
  (select coalesce(json_agg(shown order by id desc), '[]') from (
     select id, kind, status, event_id, correlation_id, created_at from jobs where id = %(number)s::bigint
     union
     (select * from newest_jobs where correlation_id = %(text)s order by id desc limit %(most)s)) shown),
  (select coalesce(json_agg(shown order by id desc), '[]') from (
     select id, source, received_at, route_error, correlation_id from events where id = %(number)s::bigint
     union
     (select * from newest_events where correlation_id = %(text)s order by id desc limit %(most)s)) shown),
  exists (select from jobs order by id desc offset %(newest)s limit 1)
    or exists (select from events order by id desc offset %(newest)s limit 1)
