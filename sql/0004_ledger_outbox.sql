-- The once ledger: effects that have happened under a key, and effects outside the database that are being made.
create table job_executions (
  id bigint generated always as identity primary key,
  job_type text collate "C" not null,
  idempotency_key text collate "C" not null,
  request_hash text,                              -- SHA-256 of the request's canonical JSON; null: none was given
  result jsonb,
  started_at timestamptz not null default now(),
  completed_at timestamptz,                       -- null: in progress
  job_id bigint,                                  -- who is at it, while it is in progress: the job and its claim
  claim_id bigint,
  locked_until timestamptz,                       -- it is over then at the latest, and earlier with the lease of the job
  unique (job_type, idempotency_key)
);

-- What is to be sent on, written with the work that it tells of. State stands in each row, so that none is skipped, whenever
-- its transaction commits.
create table outbox (
  id bigint generated always as identity primary key,
  topic text collate "C" not null check (topic <> ''),
  payload jsonb not null default '{}',
  attributes jsonb not null default '{}' check (jsonb_typeof(attributes) = 'object'),
  created_at timestamptz not null default now(),
  run_at timestamptz not null default now(),      -- not before
  locked_until timestamptz,                       -- the lease of the relay that sends it
  published_at timestamptz,                       -- it was accepted
  failed_at timestamptz,                          -- it was set aside
  attempts int not null default 0,
  last_error text
);
create index outbox_open on outbox (run_at, id) where published_at is null and failed_at is null;
create index outbox_failed on outbox (failed_at) where failed_at is not null;

insert into pruning (table_name) values ('job_executions'), ('outbox');
