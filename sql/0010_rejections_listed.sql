-- What was refused, listed by hour, each count with the latest request of it as a sample: no body, no value of a header.
alter table rejections
  add column id bigint generated always as identity,
  add column sample jsonb not null default '{}';
create index rejections_by_hour on rejections (hour, id);
