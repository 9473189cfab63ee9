"""Slots become jobs: each once, whatever is late, at once, or killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest
from tidemill import rules
from tidemill.db import Database
from tidemill.model import Job
from tidemill.schedule import Schedule
from tidemill.wire import Connection

from tests.queue.conftest import take
from tests.queue.sweeping import DAY, MINUTE, Sweeper, a_time, clock, daily, known, minutely, news, row, slots, sweep

__all__ = ["news", "sweep"]


def test_a_schedule_seen_for_the_first_time_starts_with_its_next_slot(connection: Connection, sweep: Sweeper) -> None:
    """B64"""
    assert sweep(daily("00:00"), minutely()).run().enqueued == 0
    assert row(connection, "digest", "(kind, rule, last_slot)::text") == """(digest,"daily('00:00', tz='UTC')",)"""
    connection.execute("update schedules set first_seen = first_seen - interval '1 minute'")
    assert sweep(minutely()).run().enqueued == 1


def test_a_slot_becomes_one_job_that_knows_its_slots(connection: Connection, sweep: Sweeper, database: Database) -> None:
    rome = daily("09:00", tz="Asia/Tokyo")
    today = rome.last_slot(clock(connection))
    known(connection, rome, today - DAY)
    assert sweep(rome).run().enqueued == 1
    assert sweep(rome).run().enqueued == 0
    job: Job = take(database).jobs[0]
    text = today.astimezone(rules.zone("Asia/Tokyo")).isoformat()
    assert (job.kind, job.key, job.payload) == ("digest", f"digest:{text}", {}) and text.endswith("T09:00:00+09:00")
    assert (job.slot, job.previous_slot) == (today, today - DAY)
    assert job.correlation_id
    assert (row(connection, "digest", "last_slot"), row(connection, "digest", "last_enqueued_at is null")) == (today, False)


def test_the_job_of_a_slot_is_under_the_limit_of_its_kind(connection: Connection, sweep: Sweeper) -> None:
    known(connection, minutely(), clock(connection, -MINUTE))
    sweep(minutely(), limits={"beat": "telegram"}).run()
    assert connection.execute("select limit_name, max_attempts from jobs").fetchone() == ("telegram", None)


def test_who_is_late_runs_the_last_slot_and_counts_those_before(
    connection: Connection, sweep: Sweeper, capsys: pytest.CaptureFixture[str]
) -> None:
    """B64, B65: every minute, off for six hours."""
    now = clock(connection)
    known(connection, minutely(), now - 360 * MINUTE)
    swept = sweep(minutely()).run()
    assert swept.enqueued == 1 and swept.missed in (359, 360)  # a minute may begin meanwhile
    assert f'"missed": {swept.missed}' in capsys.readouterr().out
    assert row(connection, "beat", "last_slot") >= now


def test_catch_up_runs_missed_slots_in_their_order(connection: Connection, sweep: Sweeper) -> None:
    """B65"""
    hourly_before = daily(a_time(connection, -60 * MINUTE), catch_up=3)
    last = hourly_before.last_slot(clock(connection))
    known(connection, hourly_before, last - 5 * DAY)
    swept = sweep(hourly_before).run()
    assert (swept.enqueued, swept.missed) == (3, 2)
    assert slots(connection, "digest") == [(last - number * DAY).isoformat() for number in (2, 1, 0)]


def test_two_consecutive_slots_with_equal_payloads_both_run(connection: Connection, sweep: Sweeper) -> None:
    """B62, B66: also while the job of the slot before is still waiting."""
    known(connection, minutely(catch_up=2), clock(connection, -2 * MINUTE))
    assert sweep(minutely(catch_up=2)).run().enqueued == 2
    assert connection.execute("select count(distinct key), count(distinct payload) from jobs").fetchone() == (2, 1)


def test_many_sweeps_at_once_enqueue_one_job_a_slot(connection: Connection, sweep: Sweeper) -> None:
    """B83"""
    schedules = [daily(a_time(connection, -60 * MINUTE), name=f"s{number}", kind=f"k{number}") for number in range(10)]
    for one in schedules:
        known(connection, one, one.last_slot(clock(connection)) - DAY)
    sweeps = [sweep(*schedules) for _ in range(6)]
    counts: list[int] = []
    threads = [threading.Thread(target=lambda one=one: counts.append(one.run().enqueued)) for one in sweeps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counts) == 6 and sum(counts) == 10
    assert connection.execute("select count(*), count(distinct kind) from jobs").fetchone() == (10, 10)


DIES = """
import os, signal, sys
from tidemill import rules
from tidemill.db import Database
from tidemill.schedule import Schedule
from tidemill.sweep import Sweep
from tidemill.telemetry import Log

class Dying(Database):
    def execute(self, name, parameters=None):
        if (name, sys.argv[2]) == ("enqueue_slot", "before"): os.kill(os.getpid(), signal.SIGKILL)
        rows = super().execute(name, parameters)
        if (name, sys.argv[2]) == ("enqueue_slot", "after"): os.kill(os.getpid(), signal.SIGKILL)
        return rows

schedule = Schedule("digest", "digest", sys.argv[3], rules.daily(sys.argv[3], rules.zone("UTC")))
Sweep(Dying(sys.argv[1]), [schedule], {}, Log(), print, str).run()
"""


@pytest.mark.parametrize(("when", "made"), [("before", 0), ("after", 1)])
def test_an_event_that_comes_three_times_after_a_kill_makes_one_job(
    when: str, made: int, connection: Connection, database_url: str, sweep: Sweeper
) -> None:
    """B83: the process dies right before the commit, or right behind it."""
    at = a_time(connection, -60 * MINUTE)
    one = Schedule("digest", "digest", at, rules.daily(at, rules.zone("UTC")))
    known(connection, one, one.last_slot(clock(connection)) - DAY)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    died = subprocess.run([sys.executable, "-c", DIES, database_url, when, at], env=environ, capture_output=True)
    assert died.returncode == -signal.SIGKILL
    assert len(slots(connection, "digest")) == made
    for _ in range(3):
        sweep(one).run()
    assert len(slots(connection, "digest")) == 1


def test_a_slot_runs_once_also_when_its_job_is_gone(connection: Connection, sweep: Sweeper) -> None:
    known(connection, minutely(), clock(connection, -MINUTE))
    sweep(minutely()).run()
    before = slots(connection, "beat")
    connection.execute("delete from jobs")
    sweep(minutely()).run()
    assert not set(slots(connection, "beat")) & set(before)


def test_a_slot_whose_key_is_taken_is_skipped_and_the_next_one_runs(connection: Connection, sweep: Sweeper) -> None:
    """B66"""
    one = daily(a_time(connection, -60 * MINUTE))
    last = one.last_slot(clock(connection))
    known(connection, one, last - DAY)
    connection.execute("insert into jobs (kind, key) values ('digest', %s)", (one.key(last),))
    assert sweep(one).run().enqueued == 0
    assert row(connection, "digest", "last_slot") == last and row(connection, "digest", "last_error") is None


def test_the_zone_of_the_database_makes_no_difference(connection: Connection, sweep: Sweeper, database_url: str) -> None:
    """B67"""
    name = database_url.partition("?")[0].rpartition("/")[2]
    connection.execute(f"alter database {name} set timezone = 'Pacific/Auckland'")  # type: ignore[arg-type]
    one = daily(a_time(connection, -60 * MINUTE))
    last = one.last_slot(clock(connection))
    known(connection, one, last - DAY)
    assert sweep(one).run().enqueued == 1
    assert slots(connection, "digest") == [last.isoformat()]
