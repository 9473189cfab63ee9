"""The queue as it is usually written: one job at a time, an index on (status, run_at), a claim and an update of its own."""

from __future__ import annotations

import time
from collections.abc import Callable

import psycopg

from bench.beside import beside, seconds
from bench.lines import open_snapshot

TABLE = """
create table line (
  id bigserial primary key, status text not null default 'pending', payload jsonb not null,
  run_at timestamptz not null default now(), attempts int not null default 0, finished_at timestamptz);
create index on line (status, run_at)
"""

FILL = """
insert into line (payload, status)
select jsonb_build_object('x', repeat('a', 180)), %s from generate_series(1, %s)
"""

CLAIM = """
update line set status = 'running', attempts = attempts + 1 where id = (
  select id from line where status = 'pending' and run_at <= now() order by run_at limit 1 for update skip locked)
returning id, payload
"""


def ready(url: str, count: int) -> Callable[[], int]:
    connection = psycopg.connect(url, autocommit=True, prepare_threshold=None)
    connection.execute(TABLE)
    what, number = beside()
    if what == "finished":
        connection.execute(FILL, ("done", number))
    elif what == "churned":
        open_snapshot(url)
        connection.execute(FILL, ("pending", number))
        # What the loop below does to each row, and as many dead versions; row by row it would take hours.
        connection.execute("update line set status = 'running', attempts = attempts + 1")
        connection.execute("update line set status = 'done', finished_at = now()")
    connection.execute(FILL, ("pending", count))
    connection.execute("vacuum analyze line")

    def drain() -> int:
        done, ends_at = 0, time.monotonic() + seconds()
        while time.monotonic() < ends_at and (row := connection.execute(CLAIM).fetchone()) is not None:
            connection.execute("update line set status = 'done', finished_at = now() where id = %s", (row[0],))
            done += 1
        return done

    return drain
