-- What the status address of an event tells: never a payload.
select token, id, received_at,
       (select coalesce(json_agg(json_build_object('id', id, 'kind', kind, 'status', status) order by id), '[]')
        from jobs where event_id = events.id)
from events
where id = %(id)s and token is not null
