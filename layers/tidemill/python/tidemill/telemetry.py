"""What the machine says: one JSON line a fact, with the correlation id; metrics in CloudWatch's embedded format.

A line is written by hand, since at the rate of a drain a general logger would cost more than the work it reports.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from tidemill import jsontext

NAMESPACE = os.environ.get("METRICS_NAMESPACE") or "Tidemill"  # of this process: two stacks in one account are told apart
SAFE_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")  # what a correlation id may be, matched in full

_correlation_id: ContextVar[str] = ContextVar("correlation_id", default="")
_write_lock = threading.Lock()


def correlation_id() -> str:
    """The correlation id of what is running in this thread, or ''."""
    return _correlation_id.get()


class correlated:  # noqa: N801  a block, as in contextlib
    """`with correlated(id):` everything said inside carries this correlation id."""

    __slots__ = ("_token", "_value")

    def __init__(self, value: str | None) -> None:
        self._value = value or ""

    def __enter__(self) -> None:
        self._token = _correlation_id.set(self._value)

    def __exit__(self, *error: object) -> None:
        _correlation_id.reset(self._token)


class Log:
    """Writes JSON lines to stdout. `redact` takes every known secret out of a line; `fields` stand on each line."""

    def __init__(self, redact: Callable[[str], str] = str, **fields: Any) -> None:
        self._redact = redact
        self._fields = fields

    def bind(self, **fields: Any) -> Log:
        """A log whose lines also carry these fields."""
        return Log(self._redact, **{**self._fields, **fields})

    def info(self, message: str, **fields: Any) -> None:
        self._say("INFO", message, fields)

    def warning(self, message: str, **fields: Any) -> None:
        self._say("WARNING", message, fields)

    def error(self, message: str, **fields: Any) -> None:
        self._say("ERROR", message, fields)

    def short(self, text: object, limit: int = 1000) -> str:
        """A text for a line, in at most `limit` bytes. To cut it where it is said could leave half a secret, which would not
        be found here."""
        return jsontext.safe(str(text), self._redact, limit)

    def _say(self, level: str, message: str, fields: Mapping[str, Any]) -> None:
        text = message if isinstance(message, str) else _shown(message)
        line = {"level": level, "message": text, "timestamp": now_text(), **self._fields, **fields}
        if "correlation_id" not in line and (current := _correlation_id.get()):
            line["correlation_id"] = current
        write_lines([self._redact(_line(line))])


def metrics(values: Mapping[str, tuple[float | list[float], str]], **dimensions: str) -> str:
    """One line in CloudWatch's embedded metric format: `values` maps a name to (value or values, unit). With several
    dimensions each metric is also kept by the first one alone, and so on. Each value of a dimension is a metric of its own,
    which is paid for: it must come from a bounded set.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
    """
    declared = [{"Name": name, "Unit": unit} for name, (_, unit) in values.items()]
    names = list(dimensions)
    sets = [names[: count + 1] for count in range(len(names))] or [[]]
    directive = {"Namespace": NAMESPACE, "Dimensions": sets, "Metrics": declared}
    stamp = {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [directive]}
    return json.dumps({"_aws": stamp, **dimensions, **{name: value for name, (value, _) in values.items()}})


def write_lines(lines: list[str]) -> None:
    """Write whole lines at once, so that threads do not cut each other's."""
    with _write_lock:
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()


def now_text() -> str:
    """The time in UTC as it stands on each line, to the millisecond."""
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"


def _line(line: Mapping[str, Any]) -> str:
    """The line as JSON, whatever is in it: to log something never fails. What JSON cannot hold is written as text."""
    try:
        return json.dumps(line, default=_shown, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return json.dumps({name: _shown(value) for name, value in line.items()})


def _shown(value: object) -> str:
    try:
        return jsontext.clean(str(value))
    except Exception as error:
        return f"<a {type(value).__name__} whose text raises {type(error).__name__}>"
