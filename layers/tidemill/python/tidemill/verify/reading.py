"""What is read of a request: headers that must be single, the query, the body as JSON, and bytes written as text."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl

from tidemill import jsontext
from tidemill.errors import ConfigurationError
from tidemill.model import Refused, Request

_piece = re.compile(r"([^.\[\]]+)|\[([0-9]+|\*)\]")
_path = re.compile(r"(?:[^.\[\]]+|\[(?:[0-9]+|\*)\])(?:\.[^.\[\]]+|\[(?:[0-9]+|\*)\])*")


def whole(request: Request, name: str) -> str:
    """The value of a header, '' where it is absent; of one that comes several times all values, joined by commas.

    The same value twice is one. API Gateway's format 2.0 joins repeated headers with a comma, and both formats are to answer
    alike: so what is repeated is looked for in the pieces between the commas.
    """
    wanted = name.lower()
    joined = ",".join(value for given, value in request.headers if given.lower() == wanted)
    parts = [part.strip() for part in joined.split(",")]
    for length in (n for n in range(1, len(parts) // 2 + 1) if len(parts) % n == 0):
        if parts[:length] * (len(parts) // length) == parts:
            return ",".join(parts[:length])
    return ",".join(parts)


def single(request: Request, name: str) -> str | Refused | None:
    """The value of a header that must be single: None where it is absent or empty, Refused where it has two values."""
    value = whole(request, name)
    return Refused(f"the header {name} has several values") if "," in value else value or None


def query_of(request: Request, name: str) -> str | None:
    """The value of a parameter of the address, decoded; None where it is absent or comes twice with different values."""
    query = request.url.partition("#")[0].partition("?")[2]
    values = {value for given, value in parse_qsl(query, keep_blank_values=True) if given == name}
    return values.pop() if len(values) == 1 else None


def document_of(request: Request) -> Any:
    """The body as JSON, as it was sent: what is not verified yet is not expanded. Raises ValueError."""
    return jsontext.loads(request.body.decode("utf-8-sig"))


class Path:
    """A place in JSON: `id`, `data.items[0].id`, `$.id`; `[*]` stands for each item of a list. Raises ConfigurationError."""

    def __init__(self, text: str, field: str = "json_path") -> None:
        plain = text.removeprefix("$").removeprefix(".")
        if not _path.fullmatch(plain):
            raise ConfigurationError(f"{field} must be like data.items[0].id, not {text!r}")
        self._pieces = [name or (index if index == "*" else int(index)) for name, index in _piece.findall(plain)]
        self.several = "*" in self._pieces

    def all(self, document: Any) -> list[Any]:
        """What stands there: one value, or with `[*]` one for each item. Raises LookupError where any of it is missing."""
        found = [document]
        for piece in self._pieces:
            found = [value for one in found for value in _step(one, piece)]
        return found

    def one(self, document: Any) -> Any:
        """What stands there first. Raises LookupError where there is nothing."""
        return self.all(document)[0]


def _step(value: Any, piece: str | int) -> Iterable[Any]:
    if piece == "*" and isinstance(value, list):
        return value
    if isinstance(piece, int) and isinstance(value, list):
        return [value[piece]]
    if isinstance(piece, str) and isinstance(value, dict):
        return [value[piece]]
    raise LookupError(piece)


def text_of(value: object) -> str:
    """A JSON value as senders write it where they sign it: a text as it is, true, 12, and nothing for null."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _hex(text: str) -> bytes | None:
    # bytes.fromhex alone would also take white space.
    return bytes.fromhex(text) if re.fullmatch("(?:[0-9a-fA-F]{2})+", text) else None


def _base64(text: str) -> bytes | None:
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    # The last character has bits that no byte has a share in: only one spelling is right.
    return data if data and base64.b64encode(data).decode() == text else None


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


decoders: dict[str, Callable[[str], bytes | None]] = {"hex": _hex, "base64": _base64}
encoders: dict[str, Callable[[bytes], str]] = {"hex": bytes.hex, "base64": _to_base64}
