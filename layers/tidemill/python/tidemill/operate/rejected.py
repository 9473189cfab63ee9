"""rejected: what was refused, by source, reason and hour, the latest hour first, a page at a time."""

from __future__ import annotations

from typing import Any

from tidemill.operate.arguments import cursor_of
from tidemill.operate.operation import Operation, Parts

PAGE = 20


def rejected(parts: Parts, operation: Operation) -> dict[str, Any]:
    """{"rejected": [{"source", "reason", "hour", "count", "last_at", "sample"}], "after": the cursor of the next page, null
    on the last one}. `limit` is 20 unless given and at most 500; since is of last_at.

    `sample` is the latest request that was counted there: {"status", "method", "path", "headers": names without their
    values, "body_bytes", "source_ip"}; {} where none was kept. What was addressed to no source has the source "(none)".
    """
    size = operation.get("limit") or PAGE
    after_hour, after_id = operation.get("after") or (None, None)
    parameters = {name: operation.get(name) for name in ("source", "since")}
    rows = parts.database.execute(
        "operate_rejected", {**parameters, "after_hour": after_hour, "after_id": after_id, "size": size + 1}
    )
    more = len(rows) > size
    _, hour, number = rows[size - 1] if more else (None, None, None)
    return {
        "rejected": [counted for counted, *_ in rows[:size]],
        "after": cursor_of(hour.isoformat(), number) if hour is not None else None,
    }
