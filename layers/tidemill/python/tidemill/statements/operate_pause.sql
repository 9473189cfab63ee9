-- Nothing starts under the limit for so many seconds, or, without a number, until somebody resumes it: then until a time that
-- nobody sees, since drivers cannot read 'infinity'. A longer pause that is in force already stays.
update limits
set paused_until = greatest(paused_until, coalesce(now() + make_interval(secs => %(seconds)s::float8), '9999-12-31 00:00:00+00'))
where name = %(name)s::text collate "C"
returning to_json(paused_until)
