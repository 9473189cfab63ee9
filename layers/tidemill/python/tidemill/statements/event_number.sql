select event_number(null)
