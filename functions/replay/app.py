"""The operator's commands: {"command": ...} in, {"ok": ...} out."""

from __future__ import annotations

from typing import Any

from tidemill import app


def handler(event: object, context: object) -> dict[str, Any]:
    return app.current().operator.run(event)
