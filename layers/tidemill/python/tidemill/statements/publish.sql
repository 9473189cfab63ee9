insert into outbox (topic, payload, attributes) values (%(topic)s, %(payload)s::jsonb, %(attributes)s::jsonb) returning id
