-- Deliveries that were parked in a queue while the database was away, and the event that each became, or was a repeat of. A
-- queue may bring one again after it was stored, and its status address has no event's number in it.
create table parked (
  id bigint generated always as identity primary key, -- the order in which pruning walks
  token text collate "C" not null unique,
  event_id bigint not null,
  stored_at timestamptz not null default now()
);

-- What of a delivery too large for one entry of the queue has come so far. Gone once it is stored.
create table parked_parts (
  id bigint generated always as identity primary key,
  token text collate "C" not null,
  part int not null,                              -- from 0
  of int not null,
  data text not null,
  arrived_at timestamptz not null default now(),
  unique (token, part)
);

insert into pruning (table_name) values ('parked'), ('parked_parts');
