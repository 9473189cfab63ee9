-- The topics that have rows set aside for want of a target: one step through the index a topic, however many rows there are.
with recursive found as (
  select min(left(topic, 200)) as topic from outbox where failed_at is not null and starts_with(last_error, 'no target ')
  union all
  select (
    select min(left(o.topic, 200)) from outbox o
    where o.failed_at is not null and starts_with(o.last_error, 'no target ') and left(o.topic, 200) > f.topic
  ) from found f where f.topic is not null
)
select topic from found where topic is not null
