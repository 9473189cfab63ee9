"""schedules: what runs when, and whether it does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tidemill.operate.operation import Operation, Parts
from tidemill.schedule import Schedule


def schedules(parts: Parts, operation: Operation) -> dict[str, Any]:
    """{"schedules": [...]} by name, of those that are loaded and of those that the database remembers:

    name, kind, rule, tz   as declared; tz is null where the schedule is not loaded (any more): it then has no next slot
    last_slot              the last slot that was enqueued, ISO 8601 with the offset of tz
    next_slot              the first slot from now on, likewise
    last_enqueued_at       when last_slot was enqueued
    overdue                whether a slot has been due for more than a period
    last_error             why the last slot could not be enqueued, null once it could
    """
    now: datetime = parts.database.execute("operate_began")[0][0]
    known = {row["name"]: row for (row,) in parts.database.execute("operate_schedules")}
    loaded = parts.schedules
    return {"schedules": [_shown(name, known.get(name), loaded.get(name), now) for name in sorted({*known, *loaded})]}


def _shown(name: str, row: Mapping[str, Any] | None, schedule: Schedule | None, now: datetime) -> dict[str, Any]:
    row = row or {}
    last = datetime.fromisoformat(row["last_slot"]) if row.get("last_slot") else None
    shown = {
        "name": name,
        "kind": schedule.kind if schedule else row["kind"],
        "rule": schedule.rule if schedule else row["rule"],
        "tz": str(schedule.times.zone) if schedule else None,
        "last_slot": (schedule.text(last) if schedule else last.isoformat()) if last else None,
        "next_slot": schedule.text(schedule.next_slot(now)) if schedule else None,
        "last_enqueued_at": row.get("last_enqueued_at"),
        "overdue": False,
        "last_error": row.get("last_error"),
    }
    if schedule and row:
        first_seen = datetime.fromisoformat(row["first_seen"])
        since = max(first_seen, last) if last else first_seen
        since = since if row["rule"] == schedule.rule else schedule.restart(since, now)
        shown["overdue"] = schedule.overdue(since, now)
    return shown
