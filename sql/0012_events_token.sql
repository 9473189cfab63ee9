-- no transaction
-- Where the answer of the database was lost, the intake parks what may have been stored; without a dedup key only its token
-- tells that it is there.
create unique index concurrently if not exists events_token on events (token) where dedup_key is null;
