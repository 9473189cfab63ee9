"""JSON and text that Postgres can hold: what is refused, what is cleaned, and the same on every Python."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

MAX_DEPTH = 200
MAX_ERROR_BYTES = 4096
MOST_SEARCHED = 1_000_000  # characters that are searched for secrets

# Possessive, and a string without an end goes to the end of the text: else `\"` many times over would take quadratic time.
_brackets_outside_strings = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\Z)|([\[{])|([\]}])', re.DOTALL)
_escaped_nul = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_not_storable = re.compile("[\x00\ud800-\udfff]")


def loads(text: str) -> Any:
    """Parse JSON; of a repeated key the last one counts. Raises ValueError on NaN, Infinity, numbers too large for a
    float, and more than 200 levels (json's own limit differs between Python versions, and is not a ValueError)."""
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise ValueError(f"JSON nested deeper than {MAX_DEPTH} levels")
    return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)


def dumps(value: Any) -> str:
    """The JSON text of a value, as jsonb takes it. Raises ValueError that says what cannot be stored."""
    try:
        text = _encode(value)
    except TypeError as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels, or refers to itself") from None
    if "\\u0000" in text and _escaped_nul.search(text):
        raise ValueError("a NUL character, which Postgres cannot store")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("a lone surrogate, which is not a character") from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    return text


def clean(text: str, limit: int = MAX_ERROR_BYTES) -> str:
    """Text that Postgres can store: NUL and lone surrogates become U+FFFD, and it is cut to `limit` bytes of UTF-8
    without cutting a character."""
    text = _not_storable.sub("\ufffd", text[: limit + 1])
    data = text.encode()
    return text if len(data) <= limit else data[: limit - 3].decode(errors="ignore") + "\u2026"


def safe(text: str, redact: Callable[[str], str], limit: int = MAX_ERROR_BYTES) -> str:
    """`clean` text without secrets, which `redact` takes out before the cut: half a secret would not be found. What is far
    beyond the limit goes first, since a search in 20 MB would take long."""
    return clean(redact(text[:MOST_SEARCHED]), limit)


def error_text(error: BaseException, redact: Callable[[str], str]) -> str:
    """The text of an error as it is stored: without secrets, in at most 4 KiB; its class where it has no text."""
    try:
        text = str(error)
    except BaseException as fault:
        text = f"<its text raises {type(fault).__name__}>"
    if isinstance(error, SystemExit):
        text = f"the handler called sys.exit({text})"
    return safe(text or type(error).__name__, redact)


def _depth(text: str) -> int:
    depth = deepest = 0
    for match in _brackets_outside_strings.finditer(text):
        if match[1]:
            depth += 1
            deepest = max(deepest, depth)
        elif match[2]:
            depth -= 1
    return deepest


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {text[:40]} is too large")
    return number
