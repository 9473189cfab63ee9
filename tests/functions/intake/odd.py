"""Texts, values and bodies that are odd."""

from __future__ import annotations

import gzip
import json
import zlib

from hypothesis import strategies as st

LARGEST = 1024 * 1024  # bytes of a body that the intake takes

ODD_BODIES = [
    b"",
    b"null",
    b"{",
    b"\xff",
    b"\x00",
    b"\xef\xbb\xbf{}",
    b'{"payload": NaN}',
    b'{"payload": 1e999}',
    b'{"payload": "\\ud800"}',
    b'{"payload": "a\\u0000"}',
    b'{"payload": ' + b"9" * 5000 + b"}",
]
ODD_PATHS = [
    "/hooks/hello",
    "/hooks//shop",
    "//hooks/shop",
    "/hooks/shop/",
    "/hooks/%73hop",
    "/hooks/shop%2f",
    "/health",
    "/events/1-x",
]

texts = st.text(max_size=40)
odd_texts = st.one_of(
    texts,
    st.text(st.characters(codec="latin-1"), max_size=40),
    st.text(st.characters(categories=["Cs", "Cc"]), max_size=5),
    st.sampled_from(
        ["", " ", ",", ",,", "é", "\x00", "a\r\nb", "null", "0" * 5000, "%00", "%ud800", "{}", "\ud800", "*" * 200]
    ),
)
junk = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(allow_nan=False, allow_infinity=False), odd_texts
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(odd_texts, inner, max_size=3)),
    max_leaves=6,
)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    kind = draw(st.integers(0, 11))
    if kind <= 3:  # what the routes of the tests' sources act upon
        names = st.sampled_from(["orders", "payload", "options", "raise", "id", "update_id", "type"])
        return json.dumps(draw(st.dictionaries(names, junk, max_size=4)), ensure_ascii=draw(st.booleans())).encode(
            "utf-8", "surrogatepass"
        )
    if kind == 4:
        return json.dumps(draw(junk)).encode()
    if kind == 5:
        return draw(st.sampled_from(ODD_BODIES))
    if kind == 6:
        depth = draw(st.sampled_from([1, 199, 200, 201, 5000, 100_000]))
        return b'{"payload": ' + b"[" * depth + b"]" * draw(st.sampled_from([depth, 0])) + b"}"
    if kind in (7, 8):
        size = draw(st.sampled_from([1000, LARGEST - 1, LARGEST, LARGEST + 1, 1_500_000]))
        return draw(st.binary(min_size=1, max_size=8)).ljust(size, b" ")
    if kind == 9:
        return draw(st.sampled_from([gzip.compress, zlib.compress]))(
            draw(st.binary(max_size=100)) * draw(st.sampled_from([1, 10_000]))
        )
    return draw(st.binary(max_size=200))
