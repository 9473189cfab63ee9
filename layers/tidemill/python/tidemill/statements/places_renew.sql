-- Renew the worker's places. One whose lease ran out is not revived: another worker may have it.
update places set locked_until = now() + make_interval(secs => %(lease)s)
where holder = %(holder)s and locked_until > now()
returning limit_name, place
