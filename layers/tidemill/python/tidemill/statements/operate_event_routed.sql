update events set route_error = %(error)s where id = %(id)s and route_error is distinct from %(error)s
