-- A schedule has another rule or kind than before; under the new rule its slots count from `since` on.
update schedules set kind = %(kind)s, rule = %(rule)s, first_seen = %(since)s where name = %(name)s
