"""What an operator may write into a command: each field is read by one function, and a bad one is named.

A reader takes the field's name and its value, and raises CommandError("invalid"). null stands for a field that is left out.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from tidemill import jsontext
from tidemill.errors import CommandError

Reader = Callable[[str, object], Any]

LARGEST_ID = 2**63 - 1
LARGEST_PAGE = 500
LONGEST_PAUSE = 10 * 366 * 86400.0  # seconds

_ago = re.compile(r"([0-9]{1,5})([mhd])")
_units = {"m": "minutes", "h": "hours", "d": "days"}


def read(given: Mapping[str, object], readers: Mapping[str, Reader], now: Callable[[], datetime]) -> dict[str, Any]:
    """The values of the fields that are given. Raises CommandError that names the first one that is unknown or wrong."""
    values: dict[str, Any] = {}
    for field, value in given.items():
        if field not in readers:
            known = ", ".join(sorted(readers)) or "none"
            raise CommandError("invalid", f"unknown field {shown(field)}; this command knows: {known}", str(field)[:60])
        if value is not None:
            found = readers[field](field, value)
            values[field] = now() - found if isinstance(found, timedelta) else found
    if "since" in values and "until" in values and values["since"] >= values["until"]:
        raise CommandError("invalid", "until must be later than since", "until")
    return values


def identity(field: str, value: object) -> int:
    """The id of a job or an event."""
    return _whole(field, value, LARGEST_ID)


def page(field: str, value: object) -> int:
    """How many to list; more than the largest page is the largest page."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return min(_whole(field, value, None), LARGEST_PAGE)


def text(field: str, value: object) -> str:
    """A name: 1 to 200 characters that can be stored."""
    if not isinstance(value, str) or not 1 <= len(value) <= 200 or jsontext.clean(value) != value:
        raise CommandError("invalid", f"{field} must be a text of 1 to 200 characters, not {shown(value)}", field)
    return value


def flag(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise CommandError("invalid", f"{field} must be true or false, not {shown(value)}", field)
    return value


def instant(field: str, value: object) -> datetime | timedelta:
    """An instant in ISO 8601 with its offset, or how long ago it was: 30m, 2h, 7d."""
    if isinstance(value, str):
        if match := _ago.fullmatch(value):
            return timedelta(**{_units[match[2]]: int(match[1])})
        if (found := _aware(value)) is not None:
            return found
    wanted = "an instant in ISO 8601 with an offset (2027-04-30T09:00:00+03:00) or a time ago (30m, 2h, 7d)"
    raise CommandError("invalid", f"{field} must be {wanted}, not {shown(value)}", field)


def seconds(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= LONGEST_PAUSE:
        raise CommandError("invalid", f"{field} must be seconds, over 0 and up to ten years, not {shown(value)}", field)
    return float(value)


def cursor(field: str, value: object) -> tuple[datetime, int]:
    """The place in a listing that an earlier answer gave as `after`."""
    try:
        when, _, number = base64.b64decode(str(value), altchars=b"-_", validate=True).decode("ascii").partition(" ")
        at = _aware(when)
        if isinstance(value, str) and at is not None and re.fullmatch("[0-9]{1,18}", number):
            return at, int(number)
    except ValueError:
        pass
    raise CommandError("invalid", f"{field} must be the `after` of an earlier answer, not {shown(value)}", field)


def cursor_of(failed_at: str, number: int) -> str:
    """What `cursor` reads."""
    return base64.urlsafe_b64encode(f"{failed_at} {number}".encode()).decode()


def shown(value: object) -> str:
    """A bad value as it stands in a message."""
    return jsontext.clean(repr(value) if isinstance(value, (str, int, float)) else type(value).__name__, 60)


def _whole(field: str, value: object, most: int | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= (most or math.inf):
        wanted = f"from 1 to {most}" if most else "of at least 1"
        raise CommandError("invalid", f"{field} must be a whole number {wanted}, not {shown(value)}", field)
    return value


def _aware(value: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return found if found.utcoffset() is not None else None
