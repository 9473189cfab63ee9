"""Claims, runs and settles jobs until the line is empty or the time is nearly up. The event makes no difference."""

from __future__ import annotations

from typing import Any

from tidemill import app


def handler(event: object, context: object) -> dict[str, Any]:
    return app.current().drain.handle(event, context)
