-- As in event_status.sql, of a delivery that was parked: of the event that it became, or was a repeat of.
select parked.token, events.id, received_at,
       (select coalesce(json_agg(json_build_object('id', id, 'kind', kind, 'status', status) order by id), '[]')
        from jobs where event_id = events.id)
from parked join events on events.id = event_id
where parked.token = %(token)s
