"""Lines of the functions, readable by people."""

from __future__ import annotations

import json
from typing import Any

from local.stack import Line

_FIRST = ("level", "message", "timestamp", "correlation_id", "location", "service")


def readable(line: Line) -> str | None:
    """`drain | message  field=value ...`; what is not JSON stands as it is. None for metrics, which are for CloudWatch."""
    try:
        fields = json.loads(line.text)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        return f"{line.name:<8} | {line.text}"
    if "_aws" in fields:
        return None
    level = str(fields.get("level", "INFO"))
    words = [level.lower() + ":"] if level != "INFO" else []
    words.append(str(fields.get("message") or fields.get("errorMessage") or ""))
    words += [f"{name}={_short(value)}" for name, value in fields.items() if name not in _FIRST and value is not None]
    return f"{line.name:<8} | {' '.join(words)}"


def _short(value: Any) -> str:
    return value if isinstance(value, str) and value and " " not in value else json.dumps(value, ensure_ascii=False)
