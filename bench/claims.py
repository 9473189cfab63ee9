"""What a claim costs, and what does not make it dearer: `python -m bench.claims [--finished N] [--churned N]`.

One process claims batches of 100 and settles them with the next claim, as a drain does. Each setting has a fresh database of
the same embedded Postgres, default durability; the ratio is to the first line of the same run.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
from tidemill import migrations, queue
from tidemill.db import Database, connect
from tidemill.lines import Lines
from tidemill.wire import Connection

from local.postgres import Postgres

ROOT = Path(__file__).parents[1]
BATCH = 100
READY = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--finished", type=int, default=1_000_000, help="finished rows (default 1000000)")
    parser.add_argument("--churned", type=int, default=200_000, help="rows worked off under a snapshot (default 200000)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidemill-bench-") as folder, Postgres(Path(folder) / "data") as postgres:
        settings: list[tuple[str, Callable[[Connection, Database], object]]] = [
            (f"{READY} ready", lambda connection, database: None),
            (f"and {chosen.finished} finished", lambda connection, database: finish(connection, chosen.finished)),
            ("and 2,000 tenants with five each", lambda connection, database: spread(connection)),
            (
                f"and {chosen.churned} churned under a snapshot",
                lambda connection, database: churn(postgres, database, chosen.churned),
            ),
        ]
        base = 0.0
        print(f"{'a claim of 100, with':38} {'p50 ms':>8} {'p95 ms':>8} {'ratio':>6}")
        for number, (name, prepare) in enumerate(settings):
            milliseconds = measure(postgres, f"bench_{number}", prepare)
            p50, p95 = statistics.median(milliseconds), statistics.quantiles(milliseconds, n=20)[18]
            base = base or p50
            print(f"{name:38} {p50:8.2f} {p95:8.2f} {p50 / base:6.2f}", flush=True)


def measure(postgres: Postgres, name: str, prepare: Callable[[Connection, Database], object]) -> list[float]:
    """Milliseconds of each claim until the line is empty."""
    with psycopg.connect(postgres.url(), autocommit=True) as admin:
        admin.execute(f"create database {name}")
    url = postgres.url(name)
    migrations.migrate(url, ROOT / "sql")
    database = Database(url)
    with connect(url) as connection:
        kept = prepare(connection, database)
        insert(connection, READY)
        connection.execute("analyze jobs")
        found = [seconds * 1000 for seconds in claims(database)]
        del kept
    database.close()
    with psycopg.connect(postgres.url(), autocommit=True) as admin:
        admin.execute(f"drop database {name} with (force)")
    return found


def claims(database: Database) -> list[float]:
    lines, taken = Lines(), []
    lines.scanned(database.execute("lines"), 0.0)
    done: list[tuple[int, int]] = []
    while True:
        plan = lines.plan(BATCH, {}, {}, 1.0)
        began = time.perf_counter()
        claim = queue.claim(
            database, plan.entries, BATCH, claim_id=queue.new_claim_id(), lease=60, holder=1, worker="bench", done=done
        )
        taken.append(time.perf_counter() - began)
        lines.took(plan, claim, BATCH, 1.0)
        done = [(job.id, job.claim_id) for job in claim.jobs]
        if not done:
            return taken[:-1]


def insert(connection: Connection, count: int) -> None:
    connection.execute(
        "insert into jobs (kind, payload) "
        "select 'work', jsonb_build_object('x', repeat('a', 180)) from generate_series(1, %s)",
        (count,),
    )


def finish(connection: Connection, count: int) -> None:
    connection.execute(
        "insert into jobs (kind, payload, status, attempts, finished_at) "
        "select 'work', jsonb_build_object('x', repeat('a', 180)), 'done', 1, now() from generate_series(1, %s)",
        (count,),
    )


def spread(connection: Connection) -> None:
    connection.execute(
        "insert into jobs (kind, tenant) select 'work', 't' || i from generate_series(1, 2000) i, generate_series(1, 5)"
    )


def churn(postgres: Postgres, database: Database, count: int) -> Connection:
    """Work rows off while a snapshot is open, which keeps their dead versions; the snapshot stays open."""
    url = database.connection().info
    keeper = psycopg.connect(postgres.url(url.dbname))
    keeper.execute("set transaction isolation level repeatable read")
    keeper.execute("select count(*) from jobs")
    with connect(postgres.url(url.dbname)) as connection:
        insert(connection, count)
    claims(database)
    return keeper


if __name__ == "__main__":
    main()
