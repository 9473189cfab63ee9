-- What the database saw: each step of each job, and by whom. A process connects as the role of its slot.

create schema witness;
create table witness.moves (
  id bigint generated always as identity primary key,
  job_id bigint not null,
  was text,                                       -- null: it was inserted
  became text not null,
  claim_id bigint,                                -- the claim that begins or ends here
  leased boolean not null,                        -- whether that claim's lease had not run out
  by text not null default session_user
);

create function witness.note() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into witness.moves (job_id, became, leased) values (new.id, new.status, false);
  elsif new.status <> old.status or (new.claim_id <> old.claim_id and new.status = 'running') then
    insert into witness.moves (job_id, was, became, claim_id, leased)
    values (new.id, old.status, new.status, case when new.status = 'running' then new.claim_id else old.claim_id end,
            coalesce(old.locked_until > clock_timestamp(), false));
  end if;
  return null;
end $$;

create trigger witness after insert or update on jobs for each row execute function witness.note();

create table written (job_id bigint primary key);
