"""Intakes that are killed: nothing that was answered with 202 is lost, and no row is doubled."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import psycopg
import pytest
from tidemill.db import Database
from tidemill.wire import Connection

from tests.conftest import ROOT
from tests.functions.intake.child import STEPS
from tests.functions.intake.conftest import delivery, rows
from tests.functions.intake.direct import intake
from tests.functions.intake.test_intake_once import wait_until_one_is_blocked

DELIVERY = delivery({"orders": [1, 2], "payload": 3}, "d")


def start(url: str, step: str) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.functions.intake.child", url, step],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'layers/tidemill/python'}:{ROOT}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    child.stdin.write(json.dumps(DELIVERY))
    child.stdin.close()
    child.stdin = None
    return child


def send_again(url: str) -> dict[str, Any]:
    database = Database(url)
    answer = intake(database).handle(DELIVERY, None)
    database.close()
    assert answer["statusCode"] == 202
    body: dict[str, Any] = json.loads(answer["body"])
    return body


@pytest.mark.parametrize("step", STEPS)
def test_sigkill_between_any_two_steps_loses_nothing_and_doubles_no_row(
    database_url: str, connection: Connection, step: str
) -> None:
    child = start(database_url, step)
    _, said = child.communicate(timeout=60)
    assert child.returncode == -9
    stored = rows(connection, "id", "events")
    assert len(stored) == (step in STEPS[STEPS.index("after the statement") :])
    assert len(rows(connection, "id", "jobs")) == 3 * len(stored)
    if said:
        assert json.loads(said)["statusCode"] == 202
        assert stored
    again = send_again(database_url)
    ((event_id,),) = rows(connection, "id", "events")
    assert again == {"id": event_id, **({"duplicate": True} if stored else {"jobs": 3})}
    assert [row[0] for row in rows(connection, "event_id", "jobs")] == [event_id] * 3


def test_a_process_that_is_not_killed_answers(database_url: str) -> None:
    child = start(database_url, "never")
    _, said = child.communicate(timeout=60)
    assert (child.returncode, json.loads(said)["statusCode"]) == (0, 202)


def test_sigkill_while_the_statement_runs_is_all_or_nothing(database_url: str, connection: Connection) -> None:
    with psycopg.connect(database_url) as first:
        first.execute("insert into events (source, dedup_key, body, token) values ('shop', 'd', '{}', 'first')")
        child = start(database_url, "never")
        wait_until_one_is_blocked(connection)
        child.kill()
        child.communicate(timeout=60)
        first.rollback()
    send_again(database_url)
    assert len(rows(connection, "id", "events")) == 1
    assert len(rows(connection, "id", "jobs")) == 3
