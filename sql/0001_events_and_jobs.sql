-- An event is a stored delivery, a job one unit of work. Times are the database's.

create table events (
  id bigint generated always as identity primary key,
  source text collate "C" not null,
  dedup_key text collate "C",                     -- the sender's id of the delivery; null: never a duplicate
  headers jsonb not null default '{}',            -- lower-case names, secrets masked
  body bytea not null,                            -- exactly the bytes that were signed
  received_at timestamptz not null default now(),
  correlation_id text not null default '',
  redeliveries int not null default 0,
  mismatches int not null default 0,              -- redeliveries whose body was another
  redelivered_at timestamptz,
  route_error text,                               -- why the event made no jobs, if parsing or routing failed
  token text collate "C"                          -- the secret part of its status address
);
create unique index events_source_dedup_key on events (source, dedup_key) where dedup_key is not null;
create index events_unrouted on events (id) where route_error is not null;

-- An event's number, or the next one. A function of its own since a connection proxy pins a connection on a statement that
-- names nextval.
create function event_number(given bigint) returns bigint language sql
as $$ select coalesce(given, nextval('events_id_seq')) $$;

create table jobs (
  id bigint generated always as identity primary key,
  kind text collate "C" not null check (kind <> ''),
  payload jsonb not null default '{}',
  status text collate "C" not null default 'pending'
    check (status in ('pending', 'running', 'done', 'failed', 'discarded')),
  attempts int not null default 0,
  max_attempts int check (max_attempts > 0),      -- null: the handler's
  run_at timestamptz not null default now(),
  locked_until timestamptz,                       -- the lease of the claim
  claim_id bigint,                                -- the fence: new with every claim
  worker text,
  expiries int not null default 0,                -- leases that ran out: above 0 the job is suspected of killing its worker
  unknown_since timestamptz,                      -- first time that nobody knew its kind
  last_error text,
  error_class text,
  result jsonb,
  key text collate "C",
  freed_key text collate "C",                     -- the key it had until an operator cancelled it
  event_id bigint,
  copy_of bigint,                                 -- the finished job that this one does again, by an operator's force
  correlation_id text,
  tenant text collate "C" not null default '',
  priority smallint not null default 0,           -- greater is more urgent
  limit_name text collate "C" not null default '',
  slot text,                                      -- the instant of its schedule, ISO 8601 with offset
  previous_slot text,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,                        -- done, failed or discarded
  failed_at timestamptz generated always as (case when status = 'failed' then coalesce(finished_at, created_at) end) stored,
  first_failed_at timestamptz,                    -- its first failed attempt; kept by a redrive
  redriven_at timestamptz,
  alerted_at timestamptz,                         -- somebody was told that it failed
  sent_at timestamptz
) with (fillfactor = 50);
-- No index, nor its predicate, may name a column that a claim changes (status, attempts, locked_until, claim_id, worker,
-- started_at): a claim is then a HOT update, in the free half of the page, which halves its write-ahead log.
create index jobs_open on jobs (limit_name, tenant, priority, run_at, id) where finished_at is null;
create unique index jobs_kind_key on jobs (kind, key) where key is not null;
create index jobs_event on jobs (event_id) where event_id is not null;
create index jobs_copy on jobs (copy_of) where copy_of is not null;
create index jobs_failed on jobs (failed_at, id) where failed_at is not null;

-- One row for each failed attempt; kept by a redrive, gone with the job.
create table job_errors (
  id bigint generated always as identity primary key,
  job_id bigint not null references jobs (id) on delete cascade,
  at timestamptz not null default now(),
  attempt int not null,
  worker text,
  error_class text not null,
  error text not null,
  log_stream text,
  request_id text
);
create index job_errors_job on job_errors (job_id);

create view dead_letters as
select id, kind as job_type, payload, key as idempotency_key, attempts, last_error, error_class, event_id, correlation_id,
       tenant, coalesce(first_failed_at, failed_at) as first_failed_at, failed_at as dead_lettered_at, redriven_at
from jobs
where failed_at is not null;
