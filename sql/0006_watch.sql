-- What was refused, counted and not stored: by source, reason and hour. Reasons are ours, never a sender's text.
create table rejections (
  source text collate "C" not null,
  reason text not null,
  hour timestamptz not null,
  count bigint not null,
  last_at timestamptz not null,
  primary key (source, reason, hour)
);

-- The last sign of life of what must not fall silent.
create table pulses (
  name text collate "C" primary key,
  at timestamptz not null
);

-- What is wrong now and has been told; a row goes when it is over, and that is told too.
create table troubles (
  name text collate "C" primary key,
  since timestamptz not null default now(),
  detail text not null
);
