"""functions/intake with what comes after it: deliveries that come again, sooner or later, and jobs that end badly."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from tidemill.db import Database
from tidemill.wire import Connection

from functions.drain.app import handler as drain
from functions.replay.app import handler as replay
from tests.functions.intake.conftest import Call, MakeEvent, delivery, rows
from tests.functions.intake.direct import intake


@pytest.fixture
def environment(environment: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    environment.setenv("DRAIN_LINGER", "0")
    return environment


def operate(**command: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(json.dumps(replay(command, None)))
    return answer


def test_a_result_that_cannot_be_stored_does_not_undo_the_work(call: Call, make: MakeEvent, connection: Connection) -> None:
    """B02: from the delivery to the finished job; its handler is called once."""
    call(delivery({"options": {"payload": {"out": "a"}}}, make=make))
    for _ in range(2):
        drain({}, None)
    assert rows(connection, "status, attempts, result ? 'left_out'", "jobs") == [("done", 1, True)]


def test_a_redelivery_of_what_failed_is_a_duplicate_and_a_replay_runs_it_again(
    call: Call, make: MakeEvent, connection: Connection
) -> None:
    """B25: a sender's button does not run it again, the operator's does, and that it was pressed can be seen."""
    first = call(delivery({"orders": [1]}, "d", make=make))
    connection.execute("update jobs set status = 'failed', finished_at = now(), attempts = 8, last_error = 'no'")
    again = call(delivery({"orders": [1]}, "d", make=make))
    assert (again.status, again.body) == (202, {"id": first.body["id"], "duplicate": True})
    shown = operate(command="show", event=first.body["id"])["event"]
    assert (shown["redeliveries"], shown["redelivered_at"] is not None) == (1, True)
    assert rows(connection, "status", "jobs") == [("failed",)]
    assert operate(command="replay", event=first.body["id"])["jobs"][0]["outcome"] == "redriven"
    assert rows(connection, "status", "jobs") == [("pending",)]


MIDNIGHT = datetime(2026, 11, 30, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("times", [(0, 2), (MIDNIGHT - 1, MIDNIGHT + 1), (0, 30 * 86400)])
def test_a_key_is_one_whenever_it_comes(
    database_url: str, connection: Connection, make: MakeEvent, times: tuple[float, float]
) -> None:
    """B29: no time is part of what makes a delivery the same."""
    database = Database(database_url)
    answers = [
        intake(database, now=partial(float, at)).handle(delivery({"orders": [1]}, "d", make=make), None) for at in times
    ]
    database.close()
    assert ["duplicate" in json.loads(answer["body"]) for answer in answers] == [False, True]
    assert len(rows(connection, "id", "events")) == 1


def test_equal_deliveries_without_a_key_are_two_whenever_they_come(
    database_url: str, connection: Connection, make: MakeEvent
) -> None:
    """B31: a ping an hour later is another one."""
    database = Database(database_url)
    for at in (0.0, 3600.0):
        intake(database, now=partial(float, at)).handle(delivery({"payload": "ping"}, make=make), None)
    database.close()
    assert len(rows(connection, "id", "events")) == len(rows(connection, "id", "jobs")) == 2
