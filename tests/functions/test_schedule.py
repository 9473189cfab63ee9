"""The schedule function: what it does, says, tells and wakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from tidemill.prune import TABLES
from tidemill.tick import JOBS_A_DRAIN, MOST_DRAINS
from tidemill.wire import Connection

from tests.functions.ticking import BEAT, Bot, MakeTick, bot, make_tick, woken
from tests.queue.conftest import put

__all__ = ["bot", "make_tick", "woken"]


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_an_idle_tick_says_so_and_wakes_nobody(make_tick: MakeTick, woken: list[int], bot: Bot) -> None:
    answer = make_tick().run(None, None)
    assert json.loads(json.dumps(answer)) == {
        "ok": True,
        "failed": [],
        "slots": {"enqueued": 0, "missed": 0, "failed": 0, "overdue": 0},
        "reaped": 0,
        "backlog": {"oldest": 0, "ready": 0, "running": 0, "dead": 0},
        "wrong": [],
        "woken": 0,
        "pruned": dict.fromkeys(TABLES, 0),
    }
    assert (woken, bot.sent) == ([], [])


@pytest.mark.parametrize("event", [None, {}, [], "x", {"command": "nothing", "Records": []}])
def test_what_is_in_the_event_makes_no_difference(event: object, make_tick: MakeTick) -> None:
    assert make_tick().run(event, None)["ok"] is True


def test_a_slot_that_is_due_is_enqueued_and_a_drain_is_woken(
    make_tick: MakeTick, connection: Connection, woken: list[int]
) -> None:
    tick = make_tick(BEAT)
    tick.run(None, None)
    connection.execute("update schedules set first_seen = first_seen - interval '1 minute'")
    answer = tick.run(None, None)
    assert (answer["slots"]["enqueued"], answer["backlog"]["ready"], woken) == (1, 1, [1])


@pytest.mark.parametrize(
    ("ready", "drains"), [(1, 1), (JOBS_A_DRAIN, 1), (JOBS_A_DRAIN + 1, 2), (20 * JOBS_A_DRAIN, MOST_DRAINS)]
)
def test_the_backlog_says_how_many_drains_are_woken(
    ready: int, drains: int, make_tick: MakeTick, connection: Connection, woken: list[int]
) -> None:
    put(connection, ready)
    assert make_tick().run(None, None)["woken"] == drains
    assert woken == [drains]


def test_no_more_drains_are_woken_than_there_may_be(
    make_tick: MakeTick, connection: Connection, woken: list[int]
) -> None:
    put(connection, 5 * JOBS_A_DRAIN)
    make_tick(DRAIN_CONCURRENCY="3").run(None, None)
    make_tick(DRAIN_CONCURRENCY="0").run(None, None)  # reserves none and bounds none
    assert woken == [3, 5]


def test_expired_leases_come_back_and_the_last_one_is_told(make_tick: MakeTick, connection: Connection, bot: Bot) -> None:
    expired = {"status": "running", "claim_id": 1, "locked_until": "2026-01-01"}
    [first] = put(connection, attempts=1, **expired)
    [last] = put(connection, attempts=2, **expired)
    assert make_tick().run(None, None)["reaped"] == 2
    assert dict(connection.execute("select id, status from jobs").fetchall()) == {first: "pending", last: "failed"}
    assert len(bot.sent) == 1 and f"Job {last} (work) failed for good" in bot.sent[0] and "LeaseExpired" in bot.sent[0]
    told = dict(connection.execute("select id, alerted_at is not null from jobs").fetchall())
    assert told == {first: False, last: True}


def test_a_dead_job_is_not_marked_as_told_while_nobody_can_be_reached(
    make_tick: MakeTick, connection: Connection, bot: Bot
) -> None:
    put(connection, attempts=2, status="running", claim_id=1, locked_until="2026-01-01")
    bot.failures = 100
    make_tick().run(None, None)
    assert connection.execute("select status, alerted_at from jobs").fetchall() == [("failed", None)]


def test_what_could_not_be_told_at_once_is_told_before_the_tick_ends(
    make_tick: MakeTick, connection: Connection, bot: Bot
) -> None:
    put(connection, attempts=2, status="running", claim_id=1, locked_until="2026-01-01")
    bot.failures = 2
    make_tick().run(None, None)
    assert len(bot.sent) == 1 and "LeaseExpired" in bot.sent[0]


def test_the_metrics_are_embedded_in_the_log(
    make_tick: MakeTick, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    put(connection, run_at="2026-01-01 00:00+00")
    put(connection, 2, run_at="2100-01-01")
    put(connection, 3, status="running", attempts=1, locked_until="2100-01-01")
    put(connection, 4, status="failed", finished_at="2026-01-01")
    put(connection, 5, status="done", finished_at="2026-01-01", tenant="another")
    make_tick(RETENTION_DAYS="9999").run(None, None)
    [found] = [line for line in lines(capsys) if "JobsReady" in line]
    assert [one["Name"] for one in found["_aws"]["CloudWatchMetrics"][0]["Metrics"]] == [
        "OldestReadyAge", "JobsReady", "JobsRunning", "JobsDead",
    ]  # fmt: skip
    assert (found["JobsReady"], found["JobsRunning"], found["JobsDead"]) == (1, 3, 4)
    age = connection.execute("select extract(epoch from now() - '2026-01-01 00:00+00')::float8").fetchone()
    assert age is not None and age[0] - 60 < found["OldestReadyAge"] <= age[0]


def test_a_schedule_that_is_late_by_a_period_is_counted_by_the_tick_that_finds_it(
    make_tick: MakeTick, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    tick = make_tick(BEAT)
    for late in (None, "10 minutes", None):
        if late:
            connection.execute("update schedules set first_seen = first_seen - %s::interval", (late,))
        tick.run(None, None)
    counted = [
        (one["SchedulesOverdue"], one["SlotsEnqueued"], one["SlotsMissed"] > 0)
        for one in lines(capsys)
        if "SchedulesOverdue" in one
    ]
    assert counted == [(0, 0, False), (1, 1, True), (0, 0, False)]


def test_the_clock_of_the_schedules_is_the_database_s(make_tick: MakeTick, connection: Connection) -> None:
    tick = make_tick(BEAT)
    tick.run(None, None)
    row = connection.execute("select first_seen, now() from schedules").fetchone()
    assert row is not None and abs((row[0] - row[1]).total_seconds()) < 60
    assert row[0].astimezone(UTC) <= row[1].astimezone(UTC)


AUTOMATION = """
from tidemill import every, handler

@every(minutes=1)
@handler("beat")
def beat(job, ctx):
    return None
"""

CALL = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("schedule_function", sys.argv[1])
function = importlib.util.module_from_spec(spec)
spec.loader.exec_module(function)
print(json.dumps(function.handler({"time": "ignored"}, None)))
"""


def test_the_function_runs_the_schedules_of_the_automations(
    database_url: str, connection: Connection, tmp_path: Path
) -> None:
    """B83: the same event three times."""
    (tmp_path / "beats.py").write_text(AUTOMATION, "utf-8")
    environ = {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
        "DATABASE_URL": database_url,
        "AUTOMATIONS": "beats",
    }
    call = [sys.executable, "-c", CALL, str(Path(__file__).parents[2] / "functions" / "schedule" / "app.py")]
    answers = []
    for _ in range(3):
        said = subprocess.run(call, env=environ, capture_output=True, text=True, check=True)
        answers.append(json.loads(said.stdout.splitlines()[-1]))
        connection.execute("update schedules set first_seen = first_seen - interval '1 minute'")
    assert [answer["ok"] for answer in answers] == [True] * 3
    [(jobs, slots)] = connection.execute("select count(*), count(distinct slot) from jobs where kind = 'beat'").fetchall()
    assert jobs == slots == sum(answer["slots"]["enqueued"] for answer in answers) >= 1
