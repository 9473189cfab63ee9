"""Schedules are apart: one that fails, is missing or has changed is noticed, and stops no other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from tidemill.db import Database
from tidemill.sweep import Sweep
from tidemill.telemetry import Log
from tidemill.wire import Connection, Row

from tests.queue.sweeping import DAY, MINUTE, Sweeper, a_time, clock, daily, known, minutely, news, refuse, row, sweep

__all__ = ["news", "sweep"]


def test_one_schedule_that_fails_stops_no_other(connection: Connection, sweep: Sweeper) -> None:
    """B66: five others, before and after it."""
    names = ["a", "b", "bad", "c", "d", "e"]
    schedules = [daily(a_time(connection, -60 * MINUTE), name=name, kind=name) for name in names]
    for one in schedules:
        known(connection, one, one.last_slot(clock(connection)) - DAY)
    refuse(connection, "bad")
    swept = sweep(*schedules).run()
    assert (swept.enqueued, swept.failed) == (5, 1)
    assert row(connection, "bad", "last_error").startswith("RaiseException: no room for ***")
    assert [row(connection, name, "last_error") for name in names if name != "bad"] == [None] * 5


def test_a_slot_that_failed_runs_when_it_can(connection: Connection, sweep: Sweeper) -> None:
    one = daily(a_time(connection, -60 * MINUTE))
    known(connection, one, one.last_slot(clock(connection)) - DAY)
    refuse(connection, "digest")
    assert sweep(one).run().failed == 1
    connection.execute("drop trigger refused on jobs")
    assert sweep(one).run().enqueued == 1
    assert row(connection, "digest", "last_error") is None


def test_a_changed_rule_runs_what_is_new_and_nothing_twice(connection: Connection, sweep: Sweeper) -> None:
    """B62: daily, to daily an hour later, to every minute, by the same name."""
    before, after = (daily(a_time(connection, -hours * 60 * MINUTE)) for hours in (3, 2))
    known(connection, before, before.last_slot(clock(connection)))
    swept = sweep(after).run()
    assert (swept.enqueued, swept.missed) == (0, 0)
    assert row(connection, "digest", "rule") == after.rule
    assert sweep(after).run().enqueued == 0
    connection.execute("update schedules set first_seen = now() - interval '1 hour'")
    swept = sweep(minutely("digest", "digest")).run()
    assert (swept.enqueued, swept.missed) == (1, 0)


def test_a_schedule_that_moves_to_another_kind_does_not_repeat_its_slot(connection: Connection, sweep: Sweeper) -> None:
    one, moved = (daily(a_time(connection, -60 * MINUTE), kind=kind) for kind in ("digest", "summary"))
    known(connection, one, one.last_slot(clock(connection)) - DAY)
    assert sweep(one).run().enqueued == 1
    assert sweep(moved).run().enqueued == 0
    assert row(connection, "digest", "kind") == "summary"


class Interrupted(Database):
    """Something happens right after it has read how the schedules stand."""

    happens: Callable[[], object]

    def execute(self, name: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        rows = super().execute(name, parameters)
        if name == "schedule_see":
            self.happens()
        return rows


def test_a_sweep_overtaken_by_one_with_another_kind_does_not_repeat_the_slot(
    connection: Connection, database_url: str, sweep: Sweeper
) -> None:
    """B62, B83: in a rolling deploy, old and new code at once."""
    one, moved = (daily(a_time(connection, -60 * MINUTE), kind=kind) for kind in ("digest", "summary"))
    known(connection, one, one.last_slot(clock(connection)) - DAY)
    slow = Interrupted(database_url)
    slow.happens = sweep(moved).run
    assert Sweep(slow, [one], {}, Log(), print, str).run().enqueued == 0
    slow.close()
    assert connection.execute("select kind from jobs").fetchall() == [("summary",)]


def test_the_absence_of_a_schedule_is_told_once_and_its_end_once(
    connection: Connection, sweep: Sweeper, news: list[str]
) -> None:
    """Where enqueueing itself fails."""
    one = daily(a_time(connection, -60 * MINUTE))
    known(connection, one, one.last_slot(clock(connection)) - 3 * DAY)
    refuse(connection, "digest")
    for _ in range(3):
        sweep(one).run()
    missing = one.text(one.last_slot(clock(connection)) - 2 * DAY)
    assert len(news) == 1 and "schedule digest" in news[0] and missing in news[0] and "no room for ***" in news[0]
    connection.execute("drop trigger refused on jobs")
    for _ in range(3):
        sweep(one).run()
    assert len(news) == 2 and "schedule digest" in news[1] and "runs again" in news[1]


def test_the_absence_of_a_scheduler_that_was_off_is_told_once_and_its_end_once(
    connection: Connection, sweep: Sweeper, news: list[str]
) -> None:
    one = daily(a_time(connection, -60 * MINUTE))
    known(connection, one, one.last_slot(clock(connection)) - 3 * DAY)
    assert sweep(one).run().enqueued == 1
    assert len(news) == 1 and "is overdue" in news[0]
    sweep(one).run()
    sweep(one).run()
    assert len(news) == 2 and "runs again" in news[1]


def test_a_slot_overdue_by_less_than_a_period_is_not_told(connection: Connection, sweep: Sweeper, news: list[str]) -> None:
    one = daily(a_time(connection, -60 * MINUTE))
    known(connection, one, one.last_slot(clock(connection)) - DAY)
    refuse(connection, "digest")
    sweep(one).run()
    assert news == []


def test_of_two_sweeps_one_tells_and_many_schedules_are_one_text(
    connection: Connection, sweep: Sweeper, news: list[str]
) -> None:
    """B65: thirty schedules after an outage."""
    schedules = [daily(a_time(connection, -60 * MINUTE), name=f"s{number}", kind=f"k{number}") for number in range(30)]
    for one in schedules:
        known(connection, one, one.last_slot(clock(connection)) - 3 * DAY)
    sweeps = [threading.Thread(target=sweep(*schedules).run) for _ in range(2)]
    for thread in sweeps:
        thread.start()
    for thread in sweeps:
        thread.join()
    text = "\n".join(news)
    assert text.count("is overdue") == 30 and all(f"schedule s{number} " in text for number in range(30))
    assert 1 <= len(news) <= 2
