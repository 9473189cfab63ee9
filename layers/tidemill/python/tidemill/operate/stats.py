"""stats: how the line stands, from counts that never scan the table."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from tidemill.operate.operation import Operation, Parts
from tidemill.wire import Row

MOST = 10_000

_sorts = {"open": ("pending", "running"), "failed": ("failed",), "newest": ("done", "discarded"), "unrouted": ("unrouted",)}


def stats(parts: Parts, operation: Operation) -> dict[str, Any]:
    """How the line stands:

    jobs              {"pending", "running", "failed", "done", "discarded": numbers}
    ready             how many of the pending ones are due
    oldest_ready_age  seconds since the first of those was due, null where none is
    kinds             {kind: {"pending", "running", "failed": numbers}}
    unrouted          how many events have a route_error
    capped            the names of counts that stopped at 10,000, each therefore a lower bound; done and discarded are those
                      among the 10,000 newest jobs
    limits            [{"name", "size", "used", "paused_until"}]
    schedules         [{"name", "kind", "rule", "first_seen", "last_slot", "last_enqueued_at", "last_error"}]
    """
    database = parts.database
    ages = [-due_in for *_, due_in, _ in database.execute("lines") if due_in <= 0]
    return {
        **fold(database.execute("operate_counts", {"most": MOST}), MOST),
        "oldest_ready_age": round(max(ages), 3) if ages else None,
        "limits": [limit for (limit,) in database.execute("operate_limits")],
        "schedules": [schedule for (schedule,) in database.execute("operate_schedules")],
    }


def fold(rows: Iterable[Row], most: int) -> dict[str, Any]:
    """From rows of (sort, kind, status, ready, count) to jobs, ready, kinds, unrouted and capped."""
    jobs: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    kinds: dict[str, dict[str, int]] = defaultdict(lambda: {"pending": 0, "running": 0, "failed": 0})
    ready = 0
    for sort, kind, status, due, count in rows:
        totals[sort] += count
        ready += count if due else 0
        if status in _sorts[sort]:
            jobs[status] += count
        if sort in ("open", "failed"):
            kinds[kind][status] = min(kinds[kind][status] + count, most)
    capped = [name for sort, names in _sorts.items() if totals[sort] > most for name in names]
    return {
        "jobs": {status: min(jobs[status], most) for status in ("pending", "running", "failed", "done", "discarded")},
        "ready": min(ready, most),
        "kinds": dict(sorted(kinds.items())),
        "unrouted": min(totals["unrouted"], most),
        "capped": [*capped, "ready"] if totals["open"] > most else capped,
    }
