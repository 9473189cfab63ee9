-- Nobody starts a job under the limit until then; a longer pause that is in force already stays.
update limits set paused_until = greatest(paused_until, now() + make_interval(secs => %(seconds)s)) where name = %(name)s
