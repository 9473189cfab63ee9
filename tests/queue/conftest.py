"""What tests of the queue are written with: a line of jobs, claims, and whole drains with handlers of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from psycopg.conninfo import conninfo_to_dict
from tidemill import queue
from tidemill.context import Connections, Tools
from tidemill.db import Database, connect
from tidemill.hand import Parts
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.queue import Entries
from tidemill.settings import Settings
from tidemill.telemetry import Log
from tidemill.wire import Connection
from tidemill.worker import Worker

from local.postgres import Postgres
from tests import logins
from tests.logins import Login

Told = list[tuple[int, str, str]]


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def own_url(postgres: Postgres, database_url: str) -> str:
    """The test's database on the server itself, also where the tests go through a pooler."""
    return postgres.url(str(conninfo_to_dict(database_url)["dbname"]))


@pytest.fixture
def login(postgres: Postgres, own_url: str) -> Iterator[Login]:
    with logins.login(postgres, own_url) as one:
        yield one


@pytest.fixture
def told() -> Told:
    """Jobs that failed for good, as the worker told: (id, error class, error)."""
    return []


@pytest.fixture
def worker(database_url: str, told: Told) -> Iterator[Callable[..., Worker]]:
    """`worker(*handlers, threads=, lease=, linger=, settings=)` makes one on the test's database."""
    made: list[tuple[Database, Connections]] = []

    def tell(job: Job, error_class: str, error: str) -> None:
        told.append((job.id, error_class, error))

    def make(
        *handlers: Handler, threads: int = 4, lease: float = 60, linger: float = 0, settings: dict[str, str] | None = None
    ) -> Worker:
        database, connections = Database(database_url), Connections(database_url, connect)
        made.append((database, connections))
        chosen = Settings({"DATABASE_URL": database_url, **(settings or {})})
        limits = {one.kind: one.limit_name for one in handlers if one.limit_name}
        tools = Tools(chosen, Log(chosen.redact), limits, connections)
        return Worker(Parts(database, {one.kind: one for one in handlers}, tools, "test", threads, lease, linger, tell))

    yield make
    for database, connections in made:
        database.close()
        connections.close()


@pytest.fixture
def run(connection: Connection, worker: Callable[..., Worker]) -> Callable[..., dict[str, int]]:
    """`run(flow)` makes what waits due and drains it with this handler; the first run puts the job, which has the id 1."""

    def once(flow: Callable[[Job, Any], Any]) -> dict[str, int]:
        if not connection.execute("select from jobs").fetchall():
            put(connection)
        make_due(connection)
        return worker(Handler("work", flow)).drain(120)

    return once


def socket_of(postgres: Postgres) -> str:
    """The unix socket of the server."""
    return f"{conninfo_to_dict(postgres.url())['host']}/.s.PGSQL.5432"


def put(connection: Connection, count: int = 1, **columns: Any) -> list[int]:
    """Insert jobs as another language would, and return their ids."""
    columns = {"kind": "work", **columns}
    names = ", ".join(columns)
    values = ", ".join(f"%({name})s" for name in columns)
    rows = connection.execute(
        f"insert into jobs ({names}) select {values} from generate_series(1, %(count)s) returning id",  # type: ignore[arg-type]
        {**columns, "count": count},
    ).fetchall()
    return sorted(row[0] for row in rows)


class Taken(NamedTuple):
    """What a claim has brought."""

    jobs: list[Job]
    lost: list[int]


def claim(
    database: Database, entries: Entries, size: int, *, lease: float = 60, done: tuple[tuple[int, int], ...] = ()
) -> Taken:
    """Claim, and wait for the answer."""
    asked = queue.ask(
        database, entries, size, claim_id=queue.new_claim_id(), lease=lease, holder=1, worker="test", done=done
    )
    return Taken(asked.jobs(), asked.lost())


def take(database: Database, size: int = 10, lease: float = 60, done: tuple[tuple[int, int], ...] = ()) -> Taken:
    """Claim from the line of plain jobs."""
    return claim(database, Entries([""], [""], [size], [0], [1], [1], [0], [0], [0]), size, lease=lease, done=done)


def status(connection: Connection, job_id: int) -> str:
    row = connection.execute("select status from jobs where id = %s", (job_id,)).fetchone()
    assert row is not None
    return str(row[0])


def make_due(connection: Connection) -> None:
    """Let the time that waiting jobs wait for be over."""
    connection.execute("update jobs set run_at = now() - interval '1 second' where status = 'pending'")


def expire_leases(connection: Connection) -> None:
    connection.execute("update jobs set locked_until = now() - interval '1 second' where status = 'running'")
    connection.execute("update places set locked_until = now() - interval '1 second' where holder is not null")
