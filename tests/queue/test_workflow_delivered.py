"""Signals that a route yields: stored with their event, once, and pruned when they are old."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from tidemill import Signal
from tidemill.db import Database
from tidemill.intake import Intake
from tidemill.model import Accepted, Event, NewJob
from tidemill.prune import prune
from tidemill.settings import Settings
from tidemill.source import Source
from tidemill.telemetry import Log
from tidemill.verify import header
from tidemill.wire import Connection

from tests.functions.intake.conftest import v2
from tests.queue.conftest import put
from tests.queue.operating import operator
from tests.queue.test_worker import row

desk = Source("desk", lambda request, settings, now: Accepted(), dedup_key=header("X-Id"))


@desk.route
def signals(event: Event) -> Iterable[Signal | NewJob]:
    for name, payload in event.json["signals"]:
        yield Signal(name, payload)
    for kind in event.json.get("jobs", ()):
        yield NewJob(kind)


class Desk:
    """The intake of these tests: `deliver` answers the body of the 202, and `woken` counts the drains asked for."""

    def __init__(self, url: str) -> None:
        self.woken = 0
        settings = Settings({})
        self._intake = Intake(Database(url), {"desk": desk}, settings, Log(lambda line: ""), {}, self._wake)

    def _wake(self) -> None:
        self.woken += 1

    def deliver(self, *signals: tuple[Any, Any], key: str = "", jobs: tuple[str, ...] = ()) -> dict[str, Any]:
        body = json.dumps({"signals": signals, "jobs": jobs}).encode()
        answer = self._intake.handle(v2("/hooks/desk", body, {"X-Id": key}), None)
        assert answer["statusCode"] == 202, answer
        return dict(json.loads(answer["body"]))


@pytest.fixture
def front(database_url: str) -> Desk:
    return Desk(database_url)


def kept(connection: Connection) -> list[tuple[Any, ...]]:
    return connection.execute("select name, payload from signals order by name").fetchall()


def wait(connection: Connection, name: str) -> None:
    """A job that waits for the signal for a day."""
    (job,) = put(connection, run_at="2100-01-01")
    connection.execute(
        "insert into job_steps (job_id, position, kind, name, wake_at) values (%s, 1, 'wait_for', %s, '2100-01-01')",
        (job, name),
    )


def test_a_signal_is_stored_with_its_event_and_wakes_who_waits_and_a_drain(front: Desk, connection: Connection) -> None:
    wait(connection, "taken:17")
    assert front.deliver(("taken:17", {"by": "Ann"})) == {"id": 1, "jobs": 0}
    assert (kept(connection), front.woken) == ([("taken:17", {"by": "Ann"})], 1)
    assert row(connection, 1, "run_at <= now()") == (True,)


def test_jobs_and_signals_come_together(front: Desk, connection: Connection) -> None:
    assert front.deliver(("b", 1), ("a", None), jobs=("work", "more")) == {"id": 1, "jobs": 2}
    assert kept(connection) == [("a", None), ("b", 1)]


def test_the_first_signal_of_a_name_counts_over_deliveries_and_within_one(front: Desk, connection: Connection) -> None:
    front.deliver(("a", 1), ("a", 2))
    front.deliver(("a", 3))
    assert (kept(connection), front.woken) == ([("a", 1)], 1)


def test_a_repeated_delivery_gives_no_signal(front: Desk, connection: Connection) -> None:
    front.deliver(("a", 1), key="d-1")
    connection.execute("delete from signals")
    assert front.deliver(("a", 1), key="d-1") == {"id": 1, "duplicate": True}
    assert (kept(connection), front.woken) == ([], 1)


@pytest.mark.parametrize(
    ("signal", "text"),
    [
        (("", 1), "ValueError: the name of a signal must be a text of 1 to 200 characters, not ''"),
        ((17, 1), "ValueError: the name of a signal must be a text of 1 to 200 characters, not '17'"),
        (("a\0", 1), "ValueError: the name of a signal holds a character that cannot be stored"),
        (("a", "\0"), "ValueError: the payload of a signal cannot be stored as JSON: a NUL character"),
    ],
)
def test_a_signal_that_cannot_be_stored_is_a_route_error(
    front: Desk, connection: Connection, signal: tuple[Any, Any], text: str
) -> None:
    front.deliver(("good", 1), signal, jobs=("work",))
    ((error,),) = connection.execute("select route_error from events").fetchall()
    assert (error[: len(text)], kept(connection)) == (text, [])


def test_a_replay_gives_the_signals_that_were_never_given(
    database_url: str, front: Desk, connection: Connection
) -> None:
    front.deliver(("a", 1), ("b", 2))
    connection.execute("delete from signals where name = 'b'")
    connection.execute("update signals set payload = '\"kept\"'")
    wait(connection, "b")
    assert operator(database_url, desk).run({"command": "replay", "event": 1, "dry_run": True})["ok"]
    assert kept(connection) == [("a", "kept")]
    assert operator(database_url, desk).run({"command": "replay", "event": 1}) == {"ok": True, "event": 1, "jobs": []}
    assert kept(connection) == [("a", "kept"), ("b", 2)]
    assert row(connection, 1, "run_at <= now()") == (True,)


def test_old_signals_go_after_the_retention(database_url: str, connection: Connection) -> None:
    connection.execute(
        "insert into signals (name, received_at)"
        " values ('old', now() - interval '31 days'), ('young', now() - interval '29 days')"
    )
    assert prune(Database(database_url), 30, 9)["signals"] == 1
    assert kept(connection) == [("young", None)]


def test_the_steps_of_a_job_go_with_it(database_url: str, connection: Connection) -> None:
    wait(connection, "a")
    connection.execute("update jobs set status = 'done', created_at = '2020-01-01', finished_at = '2020-01-01'")
    assert prune(Database(database_url), 30, 9)["jobs"] == 1
    assert connection.execute("select count(*) from job_steps").fetchone() == (0,)
