"""Cursors: where an earlier answer stopped, in one word that goes back as it came. Who edits one is told so."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tidemill import jsontext
from tidemill.errors import CommandError
from tidemill.operate.arguments import LARGEST_ID, Reader, shown


def cursor_of(place: Mapping[str, Any]) -> str:
    """What a reader of `cursor` reads."""
    values = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in place.items()}
    return base64.urlsafe_b64encode(jsontext.dumps(values).encode()).decode()


def cursor(**kinds: type) -> Reader:
    """A reader of places with these names; `int` is an id or 0, `list` one of ids, `datetime` an aware instant."""

    def read(field: str, value: object) -> dict[str, Any]:
        try:
            given = jsontext.loads(base64.b64decode(str(value), altchars=b"-_", validate=True).decode("ascii"))
            if isinstance(value, str) and isinstance(given, dict) and given.keys() == kinds.keys():
                return {name: _part(kind, given[name]) for name, kind in kinds.items()}
        except ValueError:
            pass
        raise CommandError("invalid", f"{field} must be the `after` of an earlier answer, not {shown(value)}", field)

    return read


def _part(kind: type, value: object) -> Any:
    """Raises ValueError where it is nothing of the kind."""
    if kind is datetime and isinstance(value, str) and (at := datetime.fromisoformat(value)).utcoffset() is not None:
        return at
    if kind is list and isinstance(value, list):
        return [_part(int, one) for one in value]
    if kind is int and isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_ID:
        return value
    raise ValueError(f"no {kind.__name__}")
