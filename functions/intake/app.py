"""API Gateway: deliveries (POST /hooks/{source}), status addresses (GET /events/{ticket}) and GET /health."""

from __future__ import annotations

from typing import Any

from tidemill import app


def handler(event: object, context: object) -> dict[str, Any]:
    return app.current().intake.handle(event, context)
