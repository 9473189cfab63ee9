from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from automations.heartbeat import heartbeat
from tidemill.app import App
from tidemill.telemetry import Log
from tidemill.wire import Connection

from tests.automations.conftest import job


class Ctx:
    log = Log()


def test_the_heart_beats_each_hour(machine: App) -> None:
    (schedule,) = [one for one in machine.schedules if one.name == "heartbeat"]
    now = datetime(2027, 4, 30, 6, 59, tzinfo=UTC)
    assert schedule.kind == "heartbeat"
    assert (schedule.last_slot(now), schedule.next_slot(now)) == (now.replace(minute=0), now.replace(hour=7, minute=0))


def test_a_beat_says_its_hour_and_the_one_before(capsys: pytest.CaptureFixture[str]) -> None:
    beat = job("heartbeat", {})._replace(
        slot_text="2027-04-30T07:00:00+00:00", previous_slot_text="2027-04-30T06:00:00+00:00"
    )
    heartbeat(beat, Ctx())
    line = json.loads(capsys.readouterr().out)
    assert line["message"] == "the machine runs"
    assert (line["slot"], line["previous_slot"]) == ("2027-04-30 07:00:00+00:00", "2027-04-30 06:00:00+00:00")


def test_a_beat_that_somebody_enqueued_by_hand_has_no_hour(capsys: pytest.CaptureFixture[str]) -> None:
    heartbeat(job("heartbeat", {}), Ctx())
    line = json.loads(capsys.readouterr().out)
    assert (line["slot"], line["previous_slot"]) == (None, None)


def test_a_due_beat_is_enqueued_by_the_minute_function_and_run_by_the_drain(
    machine: App, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.tick.run({}, None)  # the first sight of the schedule: it starts with its next slot
    connection.execute("update schedules set first_seen = now() - interval '2 hours', last_slot = null")
    machine.tick.run({}, None)
    assert machine.drain.handle({}, None)["done"] == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (beat,) = [line for line in lines if line.get("message") == "the machine runs"]
    hours = [datetime.fromisoformat(beat[name]) for name in ("previous_slot", "slot")]
    assert (hours[1] - hours[0]).total_seconds() == 3600
