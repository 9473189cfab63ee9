"""What is finished or old goes after a retention period, a small step at a time; what failed stays."""

from __future__ import annotations

import time
from collections.abc import Callable

from tidemill.db import Database

# Jobs first: an event goes after its jobs.
TABLES = (
    "jobs", "events", "signals", "operations", "job_executions", "outbox", "rejections", "parked", "parked_parts",
)  # fmt: skip
STEP = 1_000  # rows
LONGEST_DAYS = 36_500.0


def prune(
    database: Database, days: float, seconds: float, *, step: int = STEP, clock: Callable[[], float] = time.monotonic
) -> dict[str, int]:
    """Delete what has been finished for `days`, working for about `seconds`; answers the rows deleted by table. The next
    call goes on where this one ended."""
    parameters = {"seconds": min(days, LONGEST_DAYS) * 86400, "size": step}
    counts = dict.fromkeys(TABLES, 0)
    for table in TABLES:
        ends_at = clock() + seconds / len(TABLES)
        more = True
        while more and clock() < ends_at:
            [(gone, more)] = database.execute(f"prune_{table}", parameters)
            counts[table] += gone
    return counts
