"""operations: who did what, the latest first, a page at a time."""

from __future__ import annotations

from typing import Any

from tidemill.operate.arguments import cursor_of
from tidemill.operate.operation import Operation, Parts

PAGE = 20


def operations(parts: Parts, operation: Operation) -> dict[str, Any]:
    """{"operations": [{"id", "at", "by", "command", "arguments", "outcome"}], "after": the cursor of the next page, null on
    the last one}. `limit` is 20 unless given and at most 500. What a bulk command refused is counted in `refused`."""
    size = operation.get("limit") or PAGE
    _, after_id = operation.get("after") or (None, None)
    rows = parts.database.execute("operate_operations", {"after_id": after_id, "size": size + 1})
    found = [one for (one,) in rows[:size]]
    for one in found:
        if isinstance(refused := one["outcome"].get("refused"), list):  # up to a thousand of them
            one["outcome"]["refused"] = len(refused) + one["outcome"].pop("refused_more", 0)
    more = len(rows) > size
    return {"operations": found, "after": cursor_of(found[-1]["at"], found[-1]["id"]) if more else None}
