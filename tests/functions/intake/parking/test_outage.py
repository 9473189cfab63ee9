"""The database stopped under load, and functions killed: every delivery that was answered with 202 is stored once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tidemill import migrations
from tidemill.db import Database
from tidemill.wire import Connection, Row

from local.postgres import Postgres
from tests.conftest import ROOT
from tests.functions.conftest import Queue
from tests.functions.intake.conftest import rows
from tests.functions.intake.parking.world import ENVIRON, World, absorb, bodies, parked
from tests.functions.intake.sources import SECRETS

CONTAINERS = 3


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A server of this test, which it may stop; with nothing switched off."""
    with tempfile.TemporaryDirectory(prefix="tidemill-test-") as folder, Postgres(Path(folder) / "data") as server:
        migrations.migrate(server.url(), ROOT / "sql")
        yield server


def start(url: str, queue: Queue, name: str) -> subprocess.Popen[str]:
    paths = (ROOT / "layers/tidemill/python", ROOT / "layers/automations/python", ROOT)
    environ = {
        **ENVIRON,
        **SECRETS,
        "PYTHONPATH": ":".join(map(str, paths)),
        "AUTOMATIONS": "tests.functions.intake.sources",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "tests.functions.intake.parking.posting", name],
        cwd=ROOT,
        env={**environ, "DATABASE_URL": url, "PARKING_QUEUE_URL": queue.url},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def stored(postgres: Postgres) -> int:
    with psycopg.connect(postgres.url()) as connection:
        row = connection.execute("select count(*) from events").fetchone()
        assert row is not None
        return int(row[0])


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not true():
        assert time.monotonic() < until
        time.sleep(0.05)


def waiting(queue: Queue) -> int:
    answer = queue.client.get_queue_attributes(QueueUrl=queue.url, AttributeNames=["ApproximateNumberOfMessages"])
    return int(answer["Attributes"]["ApproximateNumberOfMessages"])


def test_every_202_is_stored_once_where_the_database_is_stopped_under_load(
    own_postgres: Postgres, make_queue: Callable[..., Queue]
) -> None:
    """With dedup keys and without; while it is away, deliveries are still answered with 202."""
    queue = make_queue("parking")
    children = [start(own_postgres.url(), queue, f"c{number}") for number in range(CONTAINERS)]
    wait_until(lambda: stored(own_postgres) > 50)
    own_postgres.stop()
    wait_until(lambda: waiting(queue) > 50)
    own_postgres.resume()
    before = stored(own_postgres)
    wait_until(lambda: stored(own_postgres) > before + 50)
    answered: Counter[str] = Counter()
    went: set[str] = set()
    for child in children:
        _, said = child.communicate("end\n", timeout=60)
        lines = [line.split() for line in said.splitlines()]
        assert child.returncode == 0 and all(len(line) == 2 for line in lines), said[-2000:]
        answered.update(number for number, _ in lines)
        went.update(how for _, how in lines)
    assert went == {"True", "False"}
    world = World(own_postgres.url(), queue)
    assert world.absorb() == []
    with psycopg.connect(own_postgres.url()) as connection:
        events = connection.execute("select convert_from(body, 'utf8')::jsonb -> 'orders' ->> 0 from events").fetchall()
        jobs = connection.execute("select key from jobs where event_id is not null").fetchall()
    found = Counter(number for (number,) in events)
    assert answered - found == Counter() and set(found.values()) == {1}
    assert sorted(jobs) == sorted(events)


class Dying(Database):
    """Kills its process before or after the statement `at`."""

    def __init__(self, url: str, at: str, when: str) -> None:
        super().__init__(url)
        self._at, self._when = at, when

    def execute(self, name: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        if name == self._at and self._when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        found = super().execute(name, parameters)
        if name == self._at:
            os.kill(os.getpid(), signal.SIGKILL)
        return found


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("statement", ["part_arrived", "parts", "absorb", "parts_gone"])
@pytest.mark.parametrize("key", ["d", None])
def test_an_absorb_that_is_killed_at_any_statement_makes_one_event(
    database_url: str, connection: Connection, statement: str, when: str, key: str | None
) -> None:
    """Between the store and the answer too: SQS brings the messages again."""
    connection.execute("truncate parked, parked_parts")
    world = World(database_url, None)
    large, small = parked(1, b"\xff" * 800_000, key), parked(2, {"payload": 1}, key and "e")
    if (child := os.fork()) == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            world.absorber(Dying(database_url, statement, when)).handle(bodies(large, small), None)
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert absorb(world, large, small) == []
    assert sorted(rows(connection, "body, redeliveries", "events")) == [(b'{"payload": 1}', 0), (large.body, 0)]
    assert (len(rows(connection, "id", "jobs")), rows(connection, "id", "parked_parts")) == (1, [])
