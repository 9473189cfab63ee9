"""Keys: where the sender's id of a delivery stands.

A key is any callable that takes the request and returns a text, a whole number, None for no key, or Refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from tidemill import bodies, jsontext
from tidemill.model import Request
from tidemill.verify.reading import Path, single

Key = Callable[[Request], object]


def header(name: str) -> Key:
    """The key is the value of a header. Two different values are refused."""
    return lambda request: single(request, name)


def json_path(path: str) -> Key:
    """The key is what stands in the JSON body at a path: `id`, `data.object.id`, `items[0].id` (a leading `$.` is allowed);
    with `[*]`, as in `items[*].id`, that of all items together.

    There is none where the body is no JSON, the path leads nowhere, or what stands there is neither a text nor a number.
    """
    place = Path(path)
    if place.several:
        return _read(lambda document: _together(place.all(document), ","))
    return _read(lambda document: _number_or_text(place.one(document)))


def json_paths(*paths: str, each: str = "") -> Key:
    """The key is made of what stands at several paths, joined by colons; with `each`, of every item there, joined by commas.
    There is none where any of it is missing."""
    places = [Path(path) for path in paths]
    items = Path(each) if each else None

    def of_item(item: Any) -> object:
        return _together([place.one(item) for place in places], ":")

    if items is None:
        return _read(of_item)
    return _read(lambda document: _together([of_item(item) for item in items.all(document)], ","))


def form_field(name: str) -> Key:
    """The key is a field of the body as a form."""

    def key(request: Request) -> str | None:
        try:
            return dict(parse_qsl(_text(request), keep_blank_values=True)).get(name)
        except ValueError:
            return None

    return key


def first_of(*keys: Key) -> Key:
    """The key is that of the first that has one."""

    def key(request: Request) -> object:
        found = (one(request) for one in keys)
        return next((value for value in found if value is not None and value != ""), None)

    return key


def body_hash(request: Request) -> str:
    """The key is the SHA-256 of the body: for a sender without ids whose bodies tell the time, so that no two are alike."""
    return hashlib.sha256(request.body).hexdigest()


def _read(read: Callable[[Any], object]) -> Key:
    def key(request: Request) -> object:
        try:
            return read(jsontext.loads(_text(request)))
        except (ValueError, LookupError):
            return None

    return key


def _text(request: Request) -> str:
    encoding = single(request, "content-encoding")
    return bodies.expand(request.body, encoding if isinstance(encoding, str) else "").decode("utf-8-sig")


def _together(values: list[object], by: str) -> str | None:
    """All of them as one text, None where there is none or any of them is no key."""
    known = [_number_or_text(value) for value in values]
    if not known or None in known or "" in known:
        return None
    return by.join(str(value) for value in known)


def _number_or_text(value: object) -> str | int | None:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return value if isinstance(value, (str, int)) and not isinstance(value, bool) else None
