-- How far pruning has walked each table, by primary key; 0: the next walk begins at the start.
create table pruning (
  table_name text collate "C" primary key,
  walked_to bigint not null default 0
);
insert into pruning (table_name) values ('jobs'), ('events'), ('operations');
