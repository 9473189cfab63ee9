"""Each minute: slots of schedules, expired leases, the state of the lines, waking drains, pruning. Ignores its event."""

from __future__ import annotations

from typing import Any

from tidemill import app


def handler(event: object, context: object) -> dict[str, Any]:
    return app.current().tick.run(event, context)
