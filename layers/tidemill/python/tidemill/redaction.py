"""A secret as it looks where something has encoded it: what is taken out of a text, so that none shows in any form."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

SHORTEST = 6  # characters; a shorter one would blank out ordinary words, and protects nothing anyway

# What percent-encoding leaves as it is: in a parameter, in a path, and in an address that requests puts right.
_left = ("", "/", "!#$%&'()*+,/:;=?@[]~")
_deepest = 3  # texts in texts: the repr of an error in a text in JSON


def forms(secrets: Iterable[str]) -> list[str]:
    """These secrets plain, percent-encoded, in base64, in hex, and escaped as JSON and Python escape texts; the longest
    first, so that one which is a part of another leaves no rest of that."""
    found = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)}
    return sorted(found, key=len, reverse=True)


def _forms(secret: str) -> set[str]:
    # An environment variable that is not UTF-8 reaches Python with surrogates, which stand for its bytes.
    texts = {secret, *(quote(secret, left, errors="surrogateescape") for left in _left)}
    found = texts | {text.replace("%20", "+") for text in texts}
    found |= {re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), text) for text in found}
    for text in texts:
        data = text.encode("utf-8", "surrogateescape")
        found |= {data.hex(), data.hex().upper(), *_base64(data)}
    for _ in range(_deepest):
        found |= {form for text in found for form in _escaped(text)}
    return found


def _base64(data: bytes) -> Iterator[str]:
    """On its own, and as a part of another text, where it looks in one of three ways, by where in a group of three bytes it
    begins; of each the characters that hold nothing but its bits."""
    yield from (base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode())
    for before in range(3):
        text = base64.b64encode(b"\0" * before + data).decode()[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
        yield from (text, text.replace("+", "-").replace("/", "_"))


def _escaped(text: str) -> tuple[str, ...]:
    return json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1]
