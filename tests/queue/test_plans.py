"""How the server goes about a large batch: its work grows with the batch, and not with its square."""

from __future__ import annotations

import json
from typing import Any

from tidemill.db import Database
from tidemill.queue import give_back
from tidemill.wire import Connection, statement

from tests.queue.conftest import put, take

COUNT = 500
COLUMNS = [
    "ids",
    "claims",
    "statuses",
    "delays",
    "unused",
    "error_classes",
    "errors",
    "results",
    "limit_names",
    "unknown",
    "sent",
]


def compared(plan: dict[str, Any]) -> int:
    """How many pairs of rows the joins of a plan compared and threw away."""
    own = int(plan.get("Rows Removed by Join Filter", 0)) * int(plan.get("Actual Loops", 1))
    return own + sum(compared(one) for one in plan.get("Plans", []))


def test_settling_a_large_batch_does_not_compare_each_job_with_each_outcome(
    connection: Connection, database: Database
) -> None:
    """Where the statistics were made while nothing ran, the planner takes a running job for a rarity."""
    put(connection, 10_000, payload=json.dumps({"x": "a" * 180}))
    connection.execute("analyze jobs")
    settlements = [give_back(job) for job in take(database, COUNT).jobs]
    parameters: dict[str, Any] = dict(zip(COLUMNS, map(list, zip(*settlements, strict=True)), strict=True))
    parameters |= {"log_stream": None, "request_id": None}
    explain = "explain (analyze, format json) " + statement("settle")
    row = connection.execute(explain, parameters).fetchone()  # type: ignore[arg-type]
    assert row is not None
    assert row[0][0]["Plan"]["Actual Rows"] == COUNT
    assert compared(row[0][0]["Plan"]) <= COUNT
