-- The steps of a workflow: what it has behind it, by position, and what it waits for. Written only by the claim that runs the
-- job; a run after an interruption reads them and goes on behind the last one.
create table job_steps (
  job_id bigint not null references jobs (id) on delete cascade,
  position int not null check (position > 0),
  name text collate "C" not null,
  kind text collate "C" not null check (kind in ('step', 'sleep', 'wait_for')),
  result jsonb,                                   -- of a step, or the payload of the signal; JSON null: no signal came in time
  error_class text,                               -- of a step that failed for good: its error is raised again on replay
  error text,
  wake_at timestamptz,                            -- the end of a sleep, or of the time for the signal; decided once
  created_at timestamptz not null default now(),
  primary key (job_id, position)
);
create index job_steps_waiting on job_steps (name) where kind = 'wait_for' and result is null;

-- What workflows wait for. A name is global; the first signal of a name counts and is kept, also where nobody waits for it yet.
create table signals (
  name text collate "C" primary key check (name <> ''),
  payload jsonb not null default 'null',
  received_at timestamptz not null default now(),
  id bigint generated always as identity unique   -- the order in which pruning walks
);
insert into pruning (table_name) values ('signals');

-- A signal makes the jobs that wait for it due, whoever inserts it. A wait that is being written at this moment is in no
-- snapshot yet: both sides take the lock of the name first, and look for the other's row after that.
create function lock_signal(name text) returns void language sql
as $$ select pg_advisory_xact_lock(hashtextextended(name, 0)) $$;

create function wake_waiting_jobs() returns trigger language plpgsql as $$
begin
  perform lock_signal(new.name);
  update jobs set run_at = now()
  where id in (select job_id from job_steps where kind = 'wait_for' and result is null and name = new.name)
    and finished_at is null and run_at > now();
  return null;
end $$;
create trigger signals_wake after insert on signals for each row execute function wake_waiting_jobs();
