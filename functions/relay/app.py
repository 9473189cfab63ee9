"""Each minute, and when a drain has published: rows of the outbox to SQS and EventBridge. Ignores its event."""

from __future__ import annotations

from typing import Any

from tidemill import app


def handler(event: object, context: object) -> dict[str, Any]:
    return app.current().relay.handle(event, context)
