-- Whom the functions log in as by IAM, on RDS and Aurora: a user that works with the rows and owns nothing. RDS keeps the role
-- rds_iam for this; where there is none, or where migrations may not make users, nothing happens (docs/network.md has the
-- same statements by hand).
do $$
begin
  if not exists (select from pg_roles where rolname = 'rds_iam') then
    return;
  end if;
  if not exists (select from pg_roles where rolname = 'tidemill_app') then
    create role tidemill_app login;
  end if;
  grant rds_iam to tidemill_app;
  execute format('grant usage on schema %I to tidemill_app', current_schema());
  execute format('grant select, insert, update, delete on all tables in schema %I to tidemill_app', current_schema());
  execute format('grant usage on all sequences in schema %I to tidemill_app', current_schema());
  -- What later migrations make, the owner's other tables included.
  execute format('alter default privileges in schema %I grant select, insert, update, delete on tables to tidemill_app',
    current_schema());
  execute format('alter default privileges in schema %I grant usage on sequences to tidemill_app', current_schema());
exception when insufficient_privilege then
  raise notice 'no user tidemill_app: %', sqlerrm;
end $$;
