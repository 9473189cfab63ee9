"""SQS: stores the events that were parked while the database was away; answers which messages are to come again."""

from __future__ import annotations

from typing import Any

from tidemill import app


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return app.current().absorb.handle(event, context)
