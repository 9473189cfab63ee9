update schedules set last_error = %(error)s where name = %(name)s
