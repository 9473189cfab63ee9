"""failed: what has failed, the latest first, a page at a time."""

from __future__ import annotations

from typing import Any

from tidemill.operate.arguments import cursor_of
from tidemill.operate.operation import Operation, Parts

PAGE = 20


def failed(parts: Parts, operation: Operation) -> dict[str, Any]:
    """{"jobs": [{"id", "kind", "attempts", "error_class", "last_error", "failed_at", "event_id"}], "after": the cursor of
    the next page, null on the last one}. `limit` is 20 unless given and at most 500; since and until are of failed_at."""
    size = operation.get("limit") or PAGE
    after_at, after_id = operation.get("after") or (None, None)
    parameters = {name: operation.get(name) for name in ("kind", "error_class", "since", "until")}
    rows = parts.database.execute(
        "operate_failed", {**parameters, "after_at": after_at, "after_id": after_id, "size": size + 1}
    )
    jobs = [job for (job,) in rows[:size]]
    more = len(rows) > size
    return {"jobs": jobs, "after": cursor_of(jobs[-1]["failed_at"], jobs[-1]["id"]) if more else None}
