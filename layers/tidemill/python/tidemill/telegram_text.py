"""Texts as Telegram takes them: cut into messages, their markup told beside them, so that no text is refused for its markup.

https://core.telegram.org/bots/api#messageentity
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any, NamedTuple

from tidemill import jsontext

LONGEST_TEXT = 4096  # UTF-16 units; the documentation says characters, and this is safe under either reading
NO_TEXT = "(no text)"  # sent for an empty text, which Telegram refuses

_kinds = {"b": "bold", "i": "italic", "u": "underline", "s": "strikethrough", "code": "code", "pre": "pre"}
_tag = re.compile(f"<(/?)({'|'.join(_kinds)})>", re.IGNORECASE)


class Entity(NamedTuple):
    """A part of a text that looks different: `start` and `end` count UTF-16 units from the beginning of the text."""

    kind: str
    start: int
    end: int


def messages(text: str, *, html: bool = False) -> list[dict[str, Any]]:
    """The text as messages, {"text"} or {"text", "entities"}, of at most 4096 UTF-16 units each, cut after a line end where
    there is one and never inside a character. Messages of nothing but white space, which Telegram refuses, are left out; if
    none is left there is NO_TEXT. With `html` it is read as `parse` says; what is cut goes on in the next message."""
    text = jsontext.clean(text, 4 * len(text) + 1)
    text, entities = parse(text) if html else (text, [])
    found: list[dict[str, Any]] = []
    start = 0
    for chunk in _chunks(text):
        end = start + _units(chunk)
        inside = [Entity(kind, max(begin, start), min(over, end)) for kind, begin, over in entities]
        told = [
            {"type": kind, "offset": begin - start, "length": over - begin} for kind, begin, over in inside if begin < over
        ]
        if chunk.strip():
            found.append({"text": chunk, "entities": told} if told else {"text": chunk})
        start = end
    return found or [{"text": NO_TEXT}]


def parse(html: str) -> tuple[str, list[Entity]]:
    """The text of this HTML, and what looks different in it: <b>, <i>, <u>, <s>, <code>, <pre> and &lt; and the like. Any
    other tag, and an end without a beginning, is text. What is not ended ends with the text."""
    text, size, done = "", 0, 0
    entities: list[Entity] = []
    begun: list[tuple[str, int]] = []

    def add(piece: str) -> None:
        nonlocal text, size
        text, size = text + piece, size + _units(piece)

    def end(tag: str) -> None:
        while begun:
            other, start = begun.pop()
            entities.append(Entity(_kinds[other], start, size))
            if other == tag:
                return

    for match in _tag.finditer(html):
        add(unescape(html[done : match.start()]))
        done = match.end()
        tag = match[2].lower()
        if not match[1]:
            begun.append((tag, size))
        elif any(other == tag for other, _ in begun):
            end(tag)
        else:
            add(match[0])
    add(unescape(html[done:]))
    end("")
    return text, entities


def _chunks(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        # Half of a surrogate pair at the end of the cut is what "ignore" drops.
        units = text[start : start + LONGEST_TEXT].encode("utf-16-le")[: 2 * LONGEST_TEXT]
        chunk = units.decode("utf-16-le", "ignore")
        if start + len(chunk) < len(text):
            chunk = chunk[: chunk.rfind("\n") + 1] or chunk
        yield chunk
        start += len(chunk)


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
