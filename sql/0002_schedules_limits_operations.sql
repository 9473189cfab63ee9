create table schedules (
  name text collate "C" primary key,
  kind text collate "C" not null,
  rule text not null,
  first_seen timestamptz not null default now(),
  last_slot timestamptz,                          -- the last slot that was enqueued
  last_enqueued_at timestamptz,
  last_error text,                                -- why the last slot could not be enqueued, null once it could
  alerted_at timestamptz                          -- its absence has been told; null once it is over
);

-- A limit is a name with so many places; a worker holds places, by lease, and runs no more jobs of the name than it holds.
create table limits (
  name text collate "C" primary key,
  size int not null check (size > 0),
  paused_until timestamptz
);
create table places (
  limit_name text collate "C" not null references limits (name) on delete cascade,
  place int not null,
  holder bigint,
  locked_until timestamptz,
  primary key (limit_name, place)
) with (fillfactor = 10);                         -- a row a page, nearly: places are taken and given back all the time

-- Who did what, by the operator's commands.
create table operations (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  by text not null,
  command text not null,
  arguments jsonb not null default '{}',
  outcome jsonb not null default '{}'
);
