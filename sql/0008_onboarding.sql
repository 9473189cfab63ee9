-- What the shipped automation `onboarding` works on.
create table onboarding_charges (
  id bigint generated always as identity primary key,
  customer text not null,
  cents int not null,                             -- below zero: given back
  charged_at timestamptz not null default now()
);
create table onboarding_accounts (
  customer text primary key,
  plan text not null,
  opened_at timestamptz not null default now()
);
