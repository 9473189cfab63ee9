"""A NewJob or Signal on its way into the database: what is refused, by the name of the field, and the columns it becomes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from tidemill import jsontext
from tidemill.model import NewJob, Signal

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
        raise TypeError(f"a route yields NewJob and Signal, not {type(job).__name__}")
    if job.run_at is not None and job.delay is not None:
        raise ValueError("run_at and delay: give one of the two")
    return {
        "kind": text("kind", job.kind),
        "payload": _json("payload", job.payload),
        "key": key_text(job.key),
        "run_at": _run_at(job.run_at),
        "delay": 0.0 if job.delay is None else duration("delay", job.delay),
        "max_attempts": None if job.max_attempts is None else _whole("max_attempts", job.max_attempts, 1, 1000),
        "tenant": text("tenant", job.tenant, empty=True),
        "priority": _whole("priority", job.priority, -32768, 32767),
        "limit_name": limits.get(job.kind, ""),
    }


def columns(yielded: Iterable[object], limits: Mapping[str, str]) -> dict[str, list[Any]]:
    """The column values of what a route yielded, as parallel lists for one statement: kinds, payloads, keys, run_ats,
    delays, max_attempts, tenants, priorities, limit_names of its jobs, ordered by kind and key, so that two who insert the
    same keys do not deadlock; and those of `signals`."""
    given = list(yielded)
    jobs = (row(one, limits) for one in given if not isinstance(one, Signal))
    rows = sorted(jobs, key=lambda values: (values["kind"], values["key"] or ""))
    names = {
        "kinds": "kind", "payloads": "payload", "keys": "key", "run_ats": "run_at", "delays": "delay",
        "max_attempts": "max_attempts", "tenants": "tenant", "priorities": "priority", "limit_names": "limit_name",
    }  # fmt: skip
    return {plural: [values[name] for values in rows] for plural, name in names.items()} | signals(given)


def signals(yielded: Iterable[object]) -> dict[str, list[str]]:
    """signal_names and signal_payloads of the signals among what a route yielded, ordered by name. Raises ValueError that
    names the field."""
    found = [
        (text("the name of a signal", one.name), _json("the payload of a signal", one.payload))
        for one in yielded
        if isinstance(one, Signal)
    ]
    found.sort(key=lambda signal: signal[0])
    return {"signal_names": [name for name, _ in found], "signal_payloads": [payload for _, payload in found]}


def text(field: str, value: object, *, empty: bool = False) -> str:
    """The value, if it is a text of 1 (or, with `empty`, 0) to 200 characters that can be stored. Raises ValueError."""
    if not isinstance(value, str) or len(value) > 200 or (not value and not empty):
        raise ValueError(f"{field} must be a text of {0 if empty else 1} to 200 characters, not {str(value)[:60]!r}")
    if jsontext.clean(value) != value:
        raise ValueError(f"{field} holds a character that cannot be stored (NUL or a lone surrogate)")
    return value


def duration(field: str, value: object) -> float:
    """A timedelta or a number of seconds, as seconds from 0 to ten years. Raises ValueError."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not math.isfinite(seconds):
        raise ValueError(f"{field} must be a timedelta or a number of seconds, not {str(value)[:60]!r}")
    if not 0 <= seconds <= LONGEST_DELAY:
        raise ValueError(f"{field} must be from 0 seconds to ten years, not {seconds}")
    return float(seconds)


def _json(field: str, value: object) -> str:
    try:
        return jsontext.dumps(value)
    except ValueError as error:
        raise ValueError(f"{field} cannot be stored as JSON: {error}") from None


def _run_at(value: object) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise ValueError(f"run_at must be a datetime with a time zone, not {str(value)[:60]!r}")
    return value


def _whole(field: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{field} must be a whole number from {least} to {most}, not {str(value)[:60]!r}")
    return value
