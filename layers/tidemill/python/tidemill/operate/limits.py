"""pause and resume: whether jobs under a limit are started."""

from __future__ import annotations

from typing import Any

from tidemill import handlers, places
from tidemill.errors import CommandError
from tidemill.operate.operation import Operation, Parts
from tidemill.wire import Connection, Row, run, statement


def pause(parts: Parts, operation: Operation) -> dict[str, Any]:
    """{"limit": name, "paused_until": instant}: no job under it starts for so many seconds (`for`), or until it is resumed.
    What runs already goes on. A longer pause that is in force stays: resume first to shorten it."""
    return _set(parts, operation, "operate_pause", {"seconds": operation.get("for")}, "paused_until")


def resume(parts: Parts, operation: Operation) -> dict[str, Any]:
    """{"limit": name, "was_paused_until": instant, or null where it was not paused}. It also ends a pause that the other
    side asked for."""
    return _set(parts, operation, "operate_resume", {}, "was_paused_until")


def _set(parts: Parts, operation: Operation, name: str, parameters: dict[str, Any], said: str) -> dict[str, Any]:
    limit = operation.get("limit")
    if limit is None:
        raise CommandError("invalid", "limit must be the name of a limit", "limit")

    def work(connection: Connection) -> dict[str, Any] | None:
        rows: list[Row] = run(connection, statement(name), {"name": limit, **parameters})
        if not rows:
            return None
        answer = {"limit": limit, said: rows[0][0]}
        operation.record(connection, answer)
        return answer

    if (answer := parts.change(work)) is not None:
        return answer
    # A handler that is loaded here may have a limit that no drain has made known yet.
    if (size := handlers.limits(parts.handlers).get(limit)) is not None:
        places.declare(parts.database, {limit: size})
        if (answer := parts.change(work)) is not None:
            return answer
    raise CommandError("not_found", f"there is no limit {limit!r}", "limit")
