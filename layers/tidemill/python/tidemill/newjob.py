"""A NewJob on its way into the database: what is refused, by the name of the field, and the columns it becomes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from tidemill import jsontext
from tidemill.model import NewJob

LONGEST_KEY = 500  # bytes of UTF-8; a longer key would not fit into an index row
LONGEST_DELAY = 10 * 366 * 86400.0  # seconds


def key_text(value: object) -> str | None:
    """A key as text: None and '' are no key, 42 is '42', over 500 bytes it is its SHA-256 in hex.

    Raises ValueError for what is neither text nor a whole number.
    """
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f"key must be a text or a whole number, not {type(value).__name__}")
    text = str(value)
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > LONGEST_KEY or jsontext.clean(text, LONGEST_KEY * 4) != text:
        return hashlib.sha256(data).hexdigest()
    return text


def row(job: object, limits: Mapping[str, str]) -> dict[str, Any]:
    """The column values of one NewJob; `limits` maps a kind to the name of its limit.

    Raises ValueError (TypeError for what is no NewJob) that names the field.
    """
    if not isinstance(job, NewJob):
        raise TypeError(f"a route yields NewJob, not {type(job).__name__}")
    if job.run_at is not None and job.delay is not None:
        raise ValueError("run_at and delay: give one of the two")
    return {
        "kind": _text("kind", job.kind, empty=False),
        "payload": _payload(job.payload),
        "key": key_text(job.key),
        "run_at": _run_at(job.run_at),
        "delay": _delay(job.delay),
        "max_attempts": None if job.max_attempts is None else _whole("max_attempts", job.max_attempts, 1, 1000),
        "tenant": _text("tenant", job.tenant, empty=True),
        "priority": _whole("priority", job.priority, -32768, 32767),
        "limit_name": limits.get(job.kind, ""),
    }


def columns(jobs: Iterable[object], limits: Mapping[str, str]) -> dict[str, list[Any]]:
    """The column values of many, as parallel lists for one statement: kinds, payloads, keys, run_ats, delays, max_attempts,
    tenants, priorities, limit_names; ordered by kind and key, so that two who insert the same keys do not deadlock."""
    rows = sorted((row(job, limits) for job in jobs), key=lambda values: (values["kind"], values["key"] or ""))
    names = {
        "kinds": "kind", "payloads": "payload", "keys": "key", "run_ats": "run_at", "delays": "delay",
        "max_attempts": "max_attempts", "tenants": "tenant", "priorities": "priority", "limit_names": "limit_name",
    }  # fmt: skip
    return {plural: [values[name] for values in rows] for plural, name in names.items()}


def _text(field: str, value: object, *, empty: bool) -> str:
    if not isinstance(value, str) or len(value) > 200 or (not value and not empty):
        raise ValueError(f"{field} must be a text of {0 if empty else 1} to 200 characters, not {str(value)[:60]!r}")
    if jsontext.clean(value) != value:
        raise ValueError(f"{field} holds a character that cannot be stored (NUL or a lone surrogate)")
    return value


def _payload(value: object) -> str:
    try:
        return jsontext.dumps(value)
    except ValueError as error:
        raise ValueError(f"payload cannot be stored as JSON: {error}") from None


def _run_at(value: object) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise ValueError(f"run_at must be a datetime with a time zone, not {str(value)[:60]!r}")
    return value


def _delay(value: object) -> float:
    if value is None:
        return 0.0
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not math.isfinite(seconds):
        raise ValueError(f"delay must be a timedelta or a number of seconds, not {str(value)[:60]!r}")
    if not 0 <= seconds <= LONGEST_DELAY:
        raise ValueError(f"delay must be from 0 seconds to ten years, not {seconds}")
    return float(seconds)


def _whole(field: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{field} must be a whole number from {least} to {most}, not {str(value)[:60]!r}")
    return value
