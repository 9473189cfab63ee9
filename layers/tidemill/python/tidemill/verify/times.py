"""Timestamps: how senders write them, and how old or new they may be."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from tidemill.model import Refused

TOLERANCE = 300.0  # seconds, both ways

_digits = re.compile("[0-9]{1,16}")
_day, _time = "[0-9]{4}-[0-9]{2}-[0-9]{2}", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,12})?"
_rfc3339 = re.compile(f"{_day}[Tt]{_time}([Zz]|[+-][0-9]{{2}}:[0-9]{{2}})")
UNITS = ("s", "ms", "rfc3339")


def seconds_of(text: str, unit: str) -> float | None:
    """Epoch seconds of a timestamp in s, ms or rfc3339; None where it is not written as one."""
    if unit != "rfc3339":
        return int(text) / (1000 if unit == "ms" else 1) if _digits.fullmatch(text) else None
    try:
        return datetime.fromisoformat(text.upper()).timestamp() if _rfc3339.fullmatch(text) else None
    except (ValueError, OverflowError):
        return None


def fault(text: str, unit: str, tolerance: float | None, now: float) -> Refused | None:
    """Refused where the timestamp is not one, or further than `tolerance` seconds from `now`, before or after it; None for
    no tolerance means that any time will do."""
    if (seconds := seconds_of(text, unit)) is None:
        return Refused("the timestamp is missing or not written as one")
    if tolerance is not None and not abs(now - seconds) <= tolerance:
        return Refused(f"the timestamp is too {'old' if seconds < now else 'new'}")
    return None


def written(now: float, unit: str) -> str:
    """The timestamp of `now`, as a sender writes it."""
    if unit == "rfc3339":
        return datetime.fromtimestamp(int(now), UTC).isoformat().replace("+00:00", "Z")
    return str(int(now * 1000) if unit == "ms" else int(now))
