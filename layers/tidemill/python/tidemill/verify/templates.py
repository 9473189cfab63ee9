"""What is signed, as a template: text with pieces of the request in braces.

{body}         the raw bytes             {ts}          the timestamp as it was sent
{url}          the address as called     {method}      in capitals
{header:X}     a header, which must be   {json:a.b}    a value of the body (of the item, in a batch), '' where it is missing
               there and be single       {config:X}    the setting X
{crc32}        of the body, in decimal   {form}        Twilio's: names and values of the form, sorted, duplicates removed; or
                                                       nothing, where the query has the body's SHA-256
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from tidemill.errors import ConfigurationError
from tidemill.model import Refused, Request
from tidemill.verify.check import to_bytes
from tidemill.verify.reading import Path, decoders, query_of, single, text_of

_piece = re.compile(r"\{([a-z0-9]+)(?::([^{}]+))?\}")
MOST_FIELDS = 10_000  # of a form that is not verified yet
BODY_HASH = "bodySHA256"  # https://www.twilio.com/docs/usage/webhooks/webhooks-security


@dataclass(frozen=True)
class Content:
    """What a template is filled with; `item` is the body as JSON or one of its items, where the template asks for it."""

    request: Request
    settings: Mapping[str, str]
    url: str
    time: str
    item: Any


Filled = bytes | Refused
Fill = Callable[[Content], Filled]


class Template:
    """A template, taken apart. `headers` are the names of those that it has. Raises ConfigurationError."""

    def __init__(self, text: str) -> None:
        self._fills: list[Fill] = []
        self.headers: list[str] = []
        self.kinds: set[str] = set()
        end = 0
        for found in _piece.finditer(text):
            self._fills += [_literal(text[end : found.start()]), self._fill(text, found[1], found[2] or "")]
            end = found.end()
        self._fills.append(_literal(text[end:]))

    def _fill(self, text: str, kind: str, argument: str) -> Fill:
        maker = _makers.get(kind)
        if maker is None or bool(argument) != (kind in _with_argument):
            raise ConfigurationError(f"the template {text!r} has an unknown piece {kind!r}")
        self.kinds.add(kind)
        if kind == "header":
            self.headers.append(argument)
        return maker(argument)

    def fill(self, content: Content) -> bytes | Refused:
        """The bytes that are signed."""
        filled: list[bytes] = []
        for fill in self._fills:
            part = fill(content)
            if isinstance(part, Refused):
                return part
            filled.append(part)
        return b"".join(filled)


def _literal(text: str) -> Fill:
    data = text.encode()
    return lambda content: data


def _header(name: str) -> Fill:
    def fill(content: Content) -> Filled:
        value = single(content.request, name)
        return to_bytes(value) if isinstance(value, str) else value or Refused(f"there is no {name} header")

    return fill


def _json(path: str) -> Fill:
    place = Path(path, "a template's {json:path}")

    def fill(content: Content) -> bytes:
        try:
            return to_bytes(text_of(place.one(content.item)))
        except LookupError:
            return b""

    return fill


def _config(name: str) -> Fill:
    def fill(content: Content) -> Filled:
        value = content.settings.get(name, "").strip()
        return to_bytes(value) if value else Refused(f"the setting {name} is missing")

    return fill


def _form(content: Content) -> Filled:
    """A JSON body is not signed: its SHA-256 stands in the query, which is."""
    body = content.request.body
    if (expected := query_of(content.request, BODY_HASH)) is None:
        # As Latin-1 every byte is one character: parse_qsl itself takes bytes, and fails on those that are not ASCII.
        try:
            fields = parse_qsl(body.decode("latin-1"), True, encoding="latin-1", max_num_fields=MOST_FIELDS)
        except ValueError:
            return Refused(f"the form has more than {MOST_FIELDS} fields")
        return "".join(name + value for name, value in sorted(set(fields))).encode("latin-1")
    same = decoders["hex"](expected) == hashlib.sha256(body).digest()
    return b"" if same else Refused(f"the body is not the one of {BODY_HASH}")


def _of(fill: Fill) -> Callable[[str], Fill]:
    return lambda argument: fill


_with_argument = {"header": _header, "json": _json, "config": _config}
_makers: dict[str, Callable[[str], Fill]] = {
    **_with_argument,
    "body": _of(lambda content: content.request.body),
    "ts": _of(lambda content: to_bytes(content.time)),
    "url": _of(lambda content: to_bytes(content.url)),
    "method": _of(lambda content: to_bytes(content.request.method.upper())),
    "form": _of(_form),
    "crc32": _of(lambda content: str(zlib.crc32(content.request.body)).encode()),
}
