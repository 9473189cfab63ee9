"""A NewJob or Signal on its way into the database: what is refused, by the name of the field, and the columns it becomes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, NamedTuple

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
    checked = _new_job(job)
    return {"payload": _json("payload", checked.payload), **_without_payload(checked, limits)}


def _new_job(job: object) -> NewJob:
    if not isinstance(job, NewJob):
        raise TypeError(f"a route yields NewJob and Signal, not {type(job).__name__}")
    return job


def _without_payload(job: NewJob, limits: Mapping[str, str]) -> dict[str, Any]:
    if job.run_at is not None and job.delay is not None:
        raise ValueError("run_at and delay: give one of the two")
    return {
        "kind": text("kind", job.kind),
        "key": key_text(job.key),
        "run_at": _run_at(job.run_at),
        "delay": 0.0 if job.delay is None else duration("delay", job.delay),
        "max_attempts": None if job.max_attempts is None else _whole("max_attempts", job.max_attempts, 1, 1000),
        "tenant": text("tenant", job.tenant, empty=True),
        "priority": _whole("priority", job.priority, -32768, 32767),
        "limit_name": limits.get(job.kind, ""),
    }


class Rows(NamedTuple):
    """What the routes of an event yielded, as its statement takes it: a JSON array of jobs, each with the column values that
    `row` says (`payload` null is the JSON null), ordered by kind and key, so that two who insert the same keys do not
    deadlock; and `signals`."""

    jobs: bytearray
    signals: dict[str, list[str]]


def rows(yielded: Iterable[object], limits: Mapping[str, str]) -> Rows:
    """Raises ValueError or TypeError as `row` and `signals` do."""
    given = list(yielded)
    jobs = [(_without_payload(job := _new_job(one), limits), job) for one in given if not isinstance(one, Signal)]
    jobs.sort(key=lambda one: (one[0]["kind"], one[0]["key"] or ""))
    found = bytearray(b"[")  # which grows by one payload after the other: a large body may stand in several
    last, payload = None, b"null"
    for values, job in jobs:
        if job.payload is not last:
            last, payload = job.payload, _json("payload", job.payload).encode()
        found += b"," if len(found) > 1 else b""
        found += _object(**values)
        found += payload
        found += b"}"
    found += b"]"
    return Rows(found, signals(given))


def _object(
    kind: str, key: str | None, run_at: datetime | None, delay: float, max_attempts: int | None, tenant: str,
    priority: int, limit_name: str,
) -> bytes:  # fmt: skip
    """The beginning of a job's object, up to its payload. By hand: a general encoder costs more than all the rest."""
    return (
        f'{{"kind":{quoted(kind)},"key":{"null" if key is None else quoted(key)},'
        f'"run_at":{"null" if run_at is None else quoted(run_at.isoformat())},"delay":{delay!r},'
        f'"max_attempts":{"null" if max_attempts is None else int(max_attempts)},"tenant":{quoted(tenant)},'
        f'"priority":{int(priority)},"limit_name":{quoted(limit_name)},"payload":'
    ).encode()


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
