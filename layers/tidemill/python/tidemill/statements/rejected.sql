insert into rejections as r (source, reason, hour, count, last_at)
values (%(source)s, %(reason)s, date_trunc('hour', now(), 'UTC'), %(count)s, now())
on conflict (source, reason, hour) do update set count = r.count + excluded.count, last_at = excluded.last_at
