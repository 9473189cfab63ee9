"""The operator's page: a CloudWatch custom widget."""

from __future__ import annotations

from typing import Any

from tidemill import app


def handler(event: object, context: Any) -> str | dict[str, str]:
    return app.current().console.answer(event, context.invoked_function_arn)
