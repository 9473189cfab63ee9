-- End a waiting or failed job without having done it, and free its key.
update jobs set status = 'discarded', finished_at = now(), locked_until = null, freed_key = coalesce(key, freed_key), key = null,
                error_class = 'Cancelled', last_error = %(error)s
where id = %(id)s and status in ('pending', 'failed')
