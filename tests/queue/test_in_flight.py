"""Statements that are on their way while the worker does something else: no answer is lost, and no failure either."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import psycopg
import pytest
from psycopg import errors
from tidemill import places
from tidemill.claimer import Claimer
from tidemill.db import Database
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.wire import Connection, InFlight
from tidemill.worker import Worker

from tests.queue.conftest import put
from tests.queue.test_limits import Gauge, limited

MakeWorker = Callable[..., Worker]

CLAIMS = ("claim", "claim_limited")


@pytest.fixture
def direct(own_url: str) -> Iterator[Database]:
    """On the server itself: a pooler has words of its own for a server that is gone."""
    database = Database(own_url)
    yield database
    database.close()


def test_another_statement_waits_for_what_is_on_its_way(database: Database, connection: Connection) -> None:
    put(connection, 3)
    sent = database.send("abandon", {"claims": "{7}"})
    assert database.execute("newest") == [(3,)]
    assert (sent.count(), sent.rows()) == (0, [])


def test_an_answer_is_what_execute_would_have_brought(database: Database, connection: Connection) -> None:
    put(connection, 2, tenant="t")
    sent = database.send("operate_limits", {})
    assert (sent.rows(), sent.count()) == ([], 0)
    put(connection, 1, tenant="u")
    sent = database.send("lines", {})
    rows = database.execute("lines")
    assert [row[:5] for row in sent.rows()] == [row[:5] for row in rows]
    assert (sent.first()[:5], sent.count()) == (rows[0][:5], 2)


def test_what_a_statement_raises_comes_with_its_answer(database: Database) -> None:
    sent = database.send("abandon", {"claims": "none"})
    assert database.execute("newest") == [(0,)]
    with pytest.raises(errors.InvalidTextRepresentation):
        sent.rows()


def test_a_statement_that_the_server_gave_up_raises_and_the_next_one_has_another_connection(
    direct: Database, own_url: str
) -> None:
    server = direct.connection().info.backend_pid
    with psycopg.connect(own_url) as other:
        other.execute("lock table jobs")
        sent = direct.send("newest", {})
        other.execute("select pg_terminate_backend(%s)", (server,))
        with pytest.raises(errors.AdminShutdown):
            sent.rows()
    assert direct.connection().info.backend_pid != server


def test_an_answer_that_never_comes_raises_and_the_next_statement_has_another_connection(direct: Database) -> None:
    connection = direct.connection()
    server = connection.info.backend_pid
    sent = direct.send("newest", {})
    cut(connection)
    with pytest.raises(psycopg.OperationalError):
        sent.rows()
    assert direct.connection().info.backend_pid != server


class Cut(Database):
    """Loses the connection with its n-th claim: once the server has committed it, or before it could run it."""

    def __init__(self, url: str, number: int, committed: bool) -> None:
        super().__init__(url)
        self._left = number
        self._committed = committed

    def send(self, name: str, parameters: Mapping[str, Any]) -> InFlight:
        self._left -= name in CLAIMS
        if self._left or name not in CLAIMS:
            return super().send(name, parameters)
        with psycopg.connect(self._url) as other:
            if not self._committed:
                other.execute("lock table jobs in share mode")
            sent = super().send(name, parameters)
            assert self._connection is not None
            if self._committed:
                cut(self._connection)
            else:
                hang_up(self._connection)
                other.execute("select pg_terminate_backend(%s, 30000)", (self._connection.info.backend_pid,))
        return sent


def cut(connection: Connection) -> None:
    """Take the server's answer away, and hang up."""
    with socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.setblocking(True)
        answer = b""
        while not answer.endswith(b"Z\0\0\0\5I"):  # ready for the next query, idle
            answer += line.recv(1 << 20)
    hang_up(connection)


def hang_up(connection: Connection) -> None:
    with socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("number", range(1, 9))
def test_jobs_whose_claim_was_on_its_way_run_all_the_same_and_lose_no_attempt(
    number: int, committed: bool, connection: Connection, own_url: str, worker: MakeWorker
) -> None:
    put(connection, 2_500)
    seen: list[int] = []
    drain = worker(Handler("work", lambda job, ctx: seen.append(job.id)))
    drain._parts.__dict__["database"] = Cut(own_url, number, committed)
    assert sum(drain.drain(120).values()) == 2_500
    assert sorted(seen) == list(range(1, 2_501))
    assert connection.execute("select status, attempts, count(*) from jobs group by 1, 2").fetchall() == [("done", 1, 2_500)]


class Away(Database):
    """Is away for two claims, once a large one has come of which nothing has started yet."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.away = 0
        self.started: set[int] = set()
        self.started_meanwhile = 0
        self._last: InFlight | None = None

    def start(self, job: Job, ctx: object) -> None:
        self.started.add(job.id)
        self.started_meanwhile += self.away in (1, 2)

    def send(self, name: str, parameters: Mapping[str, Any]) -> InFlight:
        if name != "claim":
            return super().send(name, parameters)
        if self.away or (
            self._last and self.started.isdisjoint(ids := {row[2] for row in self._last.rows()}) and len(ids) > 99
        ):
            self.away += 1
        if self.away in (1, 2):
            raise psycopg.OperationalError("away")
        self._last = super().send(name, parameters)
        return self._last


def test_jobs_that_have_come_run_while_the_database_is_away(
    connection: Connection, own_url: str, worker: MakeWorker
) -> None:
    put(connection, 5_000)
    database = Away(own_url)
    drain = worker(Handler("work", database.start), threads=8)
    drain._parts.__dict__["database"] = database
    assert drain.drain(120) == {"done": 5_000}
    assert database.started_meanwhile >= 100


@pytest.mark.parametrize("committed", [True, False])
def test_a_limit_goes_on_after_a_claim_that_was_lost(
    committed: bool, connection: Connection, own_url: str, worker: MakeWorker
) -> None:
    put(connection, 10, limit_name="mail")
    drain = worker(limited(Gauge(), 3))
    drain._parts.__dict__["database"] = Cut(own_url, 2, committed)
    assert drain.drain(120) == {"done": 10}


def test_a_suspect_runs_alone_however_fast_the_others_are_claimed(connection: Connection, worker: MakeWorker) -> None:
    put(connection, 700)
    put(connection, kind="suspect", expiries=1, attempts=1)
    put(connection, 1_500)
    beside: list[Any] = []

    def look(job: Any, ctx: Any) -> None:
        beside.extend(
            ctx.connection.execute("select id from jobs where status = 'running' and id <> %s", (job.id,)).fetchall()
        )

    counts = worker(Handler("work", lambda job, ctx: None), Handler("suspect", look)).drain(120)
    assert (counts, beside) == ({"done": 2_201}, [])


def test_no_more_is_asked_under_a_limit_while_it_is_not_known_how_many_places_are_used(
    connection: Connection, database: Database
) -> None:
    places.declare(database, {"mail": 3})
    put(connection, 2, limit_name="mail")
    claimer = Claimer(database, 8, 60, "test")
    first = claimer.ask([], 2, 8, 0.0)
    assert first is not None and claimer.arrived(first) == []
    put(connection, 2)
    put(connection, 2, limit_name="mail")
    claimer.look_again()
    ahead = claimer.ask([], 9, 8, 10.0)
    assert ahead is not None and claimer.arrived(ahead) == []
    assert [job.limit_name for job in claimer.take(first, 10.0)] == ["mail", "mail"]
    assert [job.limit_name for job in claimer.take(ahead, 10.0)] == ["", ""]


def test_a_limit_holds_beside_claims_that_are_on_their_way(connection: Connection, worker: MakeWorker) -> None:
    for _ in range(4):
        put(connection, 500)
        put(connection, 40, kind="limited", limit_name="mail")
    gauge = Gauge(0.001)
    counts = worker(Handler("work", lambda job, ctx: None), limited(gauge, 3, kind="limited"), threads=8).drain(120)
    assert counts == {"done": 2_160}
    assert (gauge.total, gauge.most <= 3) == (160, True)


def test_what_is_on_its_way_when_the_time_is_over_goes_back(connection: Connection, worker: MakeWorker) -> None:
    put(connection, 30_000)
    counts = worker(Handler("work", lambda job, ctx: None, timeout=0.01)).drain(1.3)
    assert 0 < counts["done"] < 30_000
    left = connection.execute(
        "select status, attempts, count(*)::int from jobs where status <> 'done' group by 1, 2"
    ).fetchall()
    assert left == [("pending", 0, 30_000 - counts["done"])]
