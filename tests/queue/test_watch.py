"""Silence is heard: each trouble is told once, and when it is over."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

import pytest
from tidemill.alerts import Alerts
from tidemill.db import Database
from tidemill.rejections import Rejections
from tidemill.settings import Settings
from tidemill.telegram import Telegram
from tidemill.telemetry import Log
from tidemill.watch import Watch
from tidemill.wire import Connection

from tests.queue.conftest import put


class Backlog(NamedTuple):
    oldest: float = 0
    ready: int = 0


class Said(Alerts):
    """Alerts that are kept instead of sent."""

    def __init__(self) -> None:
        settings = Settings({})
        super().__init__(settings, Telegram(settings), Log())
        self.texts: list[str] = []

    def alert(self, text: str, key: str | None = None) -> None:
        self.texts.append(text)

    def job_failed(self, job_id: int, kind: str, error_class: str, error: str, correlation_id: str | None) -> None:
        self.texts.append(f"{job_id} {kind} {error_class} {error} {correlation_id}")


@pytest.fixture
def said() -> Said:
    return Said()


@pytest.fixture
def watch(database: Database, said: Said) -> Watch:
    return Watch(database, Settings({}), said)


def test_where_nothing_is_wrong_nothing_is_said(watch: Watch, said: Said) -> None:
    assert (watch.run(Backlog()), said.texts) == ([], [])


def test_an_old_line_is_told_once_and_when_it_is_over(database: Database, watch: Watch, said: Said) -> None:
    database.execute("drained", {"name": "drain", "told": []})
    for _ in range(3):
        assert watch.run(Backlog(oldest=7300, ready=12)) == ["old line"]
    assert said.texts == ["old line: the oldest job that could be claimed waits for 2 hours; 12 are ready"]
    assert watch.run(Backlog()) == []
    assert said.texts[1:] == ["old line: over, after 0 seconds"]


def test_a_drain_that_does_not_drain_is_told(connection: Connection, database: Database, watch: Watch, said: Said) -> None:
    assert "silent drain" in watch.run(Backlog(oldest=400, ready=3))
    assert any("no drain has ever ended, and 3 jobs are ready" in text for text in said.texts)
    database.execute("drained", {"name": "drain", "told": []})
    assert "silent drain" not in watch.run(Backlog(oldest=400, ready=3))
    connection.execute("update pulses set at = now() - interval '10 minutes'")
    assert "silent drain" in watch.run(Backlog(oldest=400, ready=3))
    assert said.texts[-1] == "silent drain: the last drain ended 10 minutes ago, and 3 jobs are ready"


def test_the_silence_of_the_drains_is_measured_while_jobs_wait(
    connection: Connection, database: Database, watch: Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    watch.run(Backlog(oldest=40, ready=1))  # no drain has ever ended
    database.execute("drained", {"name": "drain", "told": []})
    connection.execute("update pulses set at = at - interval '1 hour'")
    watch.run(Backlog(oldest=90, ready=1))
    watch.run(Backlog())
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["DrainSilence"] for one in said if "DrainSilence" in one] == [40, 90, 0]


def test_a_drain_without_work_may_be_silent(connection: Connection, database: Database, watch: Watch) -> None:
    database.execute("drained", {"name": "drain", "told": []})
    connection.execute("update pulses set at = now() - interval '10 hours'")
    assert watch.run(Backlog(oldest=2, ready=3)) == []


def refuse(database: Database, times: int, source: str = "shop", clock: Callable[[], float] = lambda: 0.0) -> Rejections:
    rejections = Rejections(database, Log(), clock=clock)
    for _ in range(times):
        rejections.note({}, source, 401, "the signature does not match")
    return rejections


def take_one(connection: Connection, source: str = "shop") -> None:
    connection.execute("insert into events (source, body) values (%s, '')", (source,))


def test_a_source_that_refuses_everything_is_told_until_it_takes_one(
    connection: Connection, database: Database, watch: Watch, said: Said
) -> None:
    take_one(connection, "other")
    refuse(database, 4)
    assert watch.run(Backlog()) == []
    refuse(database, 1)
    assert watch.run(Backlog()) == watch.run(Backlog()) == ["refusing source shop"]
    text = "refusing source shop: 5 deliveries refused in the last hours and none taken; is its secret right?"
    assert said.texts == [text]
    take_one(connection)
    assert watch.run(Backlog()) == []
    assert said.texts[1:] == ["refusing source shop: over, after 0 seconds"]


def test_refusals_are_counted_by_source_reason_and_hour(connection: Connection, database: Database) -> None:
    refuse(database, 3)
    refuse(database, 2, "other")
    rows = connection.execute("select source, reason, count, hour <= now() from rejections order by source desc").fetchall()
    assert rows == [("shop", "the signature does not match", 3, True), ("other", "the signature does not match", 2, True)]


def test_an_attacker_cannot_make_us_write(connection: Connection, database: Database) -> None:
    now = 0.0
    rejections = refuse(database, 500, clock=lambda: now)
    assert connection.execute("select count from rejections").fetchone() == (10,)
    now = 1.0
    rejections.note({}, "shop", 401, "the signature does not match")
    assert connection.execute("select count from rejections").fetchone() == (501,)


def test_a_refusal_is_answered_also_when_the_database_is_away(database_url: str) -> None:
    refuse(Database(database_url.replace("test_", "gone_")), 3)


def test_a_dead_job_is_told_until_it_is_marked_as_told(
    connection: Connection, database: Database, watch: Watch, said: Said
) -> None:
    failed = {"status": "failed", "error_class": "E", "last_error": "no", "correlation_id": "c"}
    (old,) = put(connection, **failed)
    connection.execute("update jobs set finished_at = now() - interval '20 minutes'")
    put(connection, **failed, finished_at="now", alerted_at=None)
    for _ in range(2):
        watch.run(Backlog())
    database.execute("told", {"ids": [old]})
    watch.run(Backlog())
    assert said.texts == [f"{old} work E no c"] * 2


def test_what_a_drain_has_told_is_not_told_again(
    connection: Connection, database: Database, watch: Watch, said: Said
) -> None:
    (old,) = put(connection, status="failed")
    connection.execute("update jobs set finished_at = now() - interval '20 minutes'")
    database.execute("drained", {"name": "drain", "told": [old]})
    watch.run(Backlog())
    assert said.texts == []
