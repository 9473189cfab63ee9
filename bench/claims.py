"""What a claim costs, and what does not make it dearer: `python -m bench.claims [--finished N] [--churned N]`.

One process claims batches of 100 and settles them with the next claim, as a drain does; and at last a drain's own claimer
takes what comes at 1,000 jobs a second. Each setting has a fresh database of the same embedded Postgres, default durability;
the ratio is to the first line of the same run.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
from tidemill import migrations, queue
from tidemill.claimer import LARGEST_BATCH, Claimer
from tidemill.db import Database, connect
from tidemill.lines import Lines
from tidemill.wire import Connection

from local.postgres import Postgres

ROOT = Path(__file__).parents[1]
BATCH = 100
READY = 20_000
STEADY_SECONDS = 10


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
        steady = f"1,000 jobs a second, {chosen.churned} dead"
        print(f"{'a claim of 100, with':38} {'p50 ms':>8} {'p95 ms':>8} {'ratio':>6}")
        for number, (name, prepare) in enumerate(settings):
            base = say(name, measure(postgres, f"bench_{number}", prepare, until_empty), base)
        for name, prepare in ((steady, settings[-1][1]), ("1,000 jobs a second, none dead", settings[0][1])):
            say(name, measure(postgres, "bench_steady", prepare, as_they_come), base)


def say(name: str, milliseconds: list[float], base: float) -> float:
    p50, p95 = statistics.median(milliseconds), statistics.quantiles(milliseconds, n=20)[18]
    print(f"{name:38} {p50:8.2f} {p95:8.2f} {p50 / (base or p50):6.2f}", flush=True)
    return base or p50


def measure(
    postgres: Postgres,
    name: str,
    prepare: Callable[[Connection, Database], object],
    claims: Callable[[Connection, Database], list[float]],
) -> list[float]:
    """Milliseconds of each claim."""
    with psycopg.connect(postgres.url(), autocommit=True) as admin:
        admin.execute(f"create database {name}")
    url = postgres.url(name)
    migrations.migrate(url, ROOT / "sql")
    database = Database(url)
    with connect(url) as connection:
        kept = prepare(connection, database)
        found = [seconds * 1000 for seconds in claims(connection, database)]
        del kept
    database.close()
    with psycopg.connect(postgres.url(), autocommit=True) as admin:
        admin.execute(f"drop database {name} with (force)")
    return found


def until_empty(connection: Connection, database: Database) -> list[float]:
    insert(connection, READY)
    connection.execute("analyze jobs")
    return work_off(database)


def work_off(database: Database) -> list[float]:
    lines, taken = Lines(), []
    lines.scanned(database.execute("lines"), 0.0)
    done: list[tuple[int, int]] = []
    while True:
        plan = lines.plan(BATCH, {}, {}, 1.0)
        began = time.perf_counter()
        claim = queue.ask(
            database, plan.entries, BATCH, claim_id=queue.new_claim_id(), lease=60, holder=1, worker="bench", done=done
        )
        jobs = claim.jobs()
        taken.append(time.perf_counter() - began)
        lines.took(plan, jobs, BATCH, 1.0)
        done = [(job.id, job.claim_id) for job in jobs]
        if not done:
            return taken[:-1]


def as_they_come(connection: Connection, database: Database) -> list[float]:
    """Seconds of each claim, whatever the claimer looks at before it included, while 1,000 jobs a second are inserted."""
    sender = threading.Thread(target=send, args=(connection.info.dsn,))
    sender.start()
    claimer, taken = Claimer(database, 8, 60, "bench"), list[float]()
    done: list[tuple[int, int]] = []
    while sender.is_alive() or done:
        now = time.monotonic()
        claim = claimer.ask(done, LARGEST_BATCH, 0, now)
        done = []
        if claim is not None:
            claimer.arrived(claim)
            jobs = claimer.take(claim, now)
            taken.append(time.monotonic() - now)
            done = [(job.id, job.claim_id) for job in jobs]
        time.sleep(0.002)
    return taken


def send(url: str) -> None:
    with connect(url) as connection:
        began = time.monotonic()
        for number in range(STEADY_SECONDS * 100):
            insert(connection, 10)
            time.sleep(max(began + (number + 1) / 100 - time.monotonic(), 0.0))


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
    work_off(database)
    return keeper


if __name__ == "__main__":
    main()
