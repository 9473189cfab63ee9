-- The tables of the example automation `invoices`.

create table invoices (
  number text collate "C" primary key check (number <> ''),
  customer text not null,
  email text,
  amount numeric(12, 2),                          -- null: not entered yet; such an invoice cannot be sent
  due_on date not null,
  status text collate "C" not null default 'open' -- open, delivered, paid, cancelled
);
create index invoices_unpaid on invoices (due_on) where status not in ('paid', 'cancelled');
