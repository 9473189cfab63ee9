-- Remember that the absence of a schedule, or its end, is being told; no row: another tick has told it.
update schedules set alerted_at = case when %(overdue)s then now() end
where name = %(name)s and (alerted_at is null) = %(overdue)s
returning name
