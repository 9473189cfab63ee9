-- Topics with rows that were set aside for want of a target are found in one step each (without_target.sql). A topic from a plain
-- insert may be longer than an index takes.
create index outbox_without_target on outbox (left(topic, 200))
  where failed_at is not null and starts_with(last_error, 'no target ');
