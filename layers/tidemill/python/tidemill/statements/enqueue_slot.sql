-- Enqueue the job of one slot, if no later slot of its schedule was. The row of the schedule is locked first, so that of two
-- ticks one enqueues; it remembers the slot also when the job is finished and gone, or when the schedule's kind has changed.
with mine as (
  update schedules set last_slot = %(at)s, last_enqueued_at = now(), last_error = null
  where name = %(name)s and (last_slot is null or last_slot < %(at)s)
  returning name
)
insert into jobs (kind, payload, key, tenant, priority, limit_name, slot, previous_slot, correlation_id)
select %(kind)s, %(payload)s::jsonb, %(key)s, %(tenant)s, %(priority)s, %(limit_name)s, %(slot)s, %(previous_slot)s,
       gen_random_uuid()::text
from mine
on conflict (kind, key) where key is not null do nothing
returning id
