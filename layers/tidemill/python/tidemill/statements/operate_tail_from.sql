-- The place at which nothing has been said yet, and the ids just below it, which are not news.
select
  (select coalesce(max(id), 0) from events), array(select id from events order by id desc limit %(overlap)s),
  (select coalesce(max(id), 0) from job_errors), array(select id from job_errors order by id desc limit %(overlap)s),
  (select coalesce(max(id), 0) from operations), array(select id from operations order by id desc limit %(overlap)s),
  now() - interval '1 second'
