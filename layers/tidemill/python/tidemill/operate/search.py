"""search: jobs and events by what a person has in hand, an id or a correlation id."""

from __future__ import annotations

import re
from typing import Any

from tidemill.errors import CommandError
from tidemill.operate.arguments import LARGEST_ID
from tidemill.operate.operation import Operation, Parts

NEWEST = 50_000  # of each, among which a correlation id is looked for: no index is kept for it
MOST = 100  # of each, in an answer


def search(parts: Parts, operation: Operation) -> dict[str, Any]:
    """{"jobs": [{"id", "kind", "status", "event_id", "correlation_id", "created_at"}], "events": [{"id", "source",
    "received_at", "route_error", "correlation_id"}], "among": null}, each the latest 100 with this id or correlation id.
    `among` is 50,000 where there are older ones, in which the correlation id was not looked for."""
    if (text := operation.get("text")) is None:
        raise CommandError("invalid", "text must be an id or a correlation id", "text")
    number = int(text) if re.fullmatch("[0-9]{1,19}", text) and int(text) <= LARGEST_ID else None
    parameters = {"text": text, "number": number, "newest": NEWEST, "most": MOST}
    jobs, events, older = parts.database.execute("operate_search", parameters)[0]
    return {"jobs": jobs, "events": events, "among": NEWEST if older else None}
