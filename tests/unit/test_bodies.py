"""Compressed bodies."""

from __future__ import annotations

import gzip
import zlib
from datetime import UTC, datetime

import pytest
from tidemill import bodies
from tidemill.bodies import expand
from tidemill.model import Event


@pytest.mark.parametrize("encoding", ["", "identity", " Identity "])
def test_a_plain_body_is_left_as_it_is(encoding: str) -> None:
    assert expand(b"\x1f\x8b not gzip", encoding) == b"\x1f\x8b not gzip"


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "x-gzip"])
def test_gzip_is_expanded_in_any_case(encoding: str) -> None:
    """B08."""
    assert expand(gzip.compress(b'{"a":1}', mtime=0), encoding) == b'{"a":1}'


def test_deflate_is_expanded() -> None:
    assert expand(zlib.compress(b"a=1"), "deflate") == b"a=1"


def test_gzip_of_several_members_is_one_body() -> None:
    assert expand(gzip.compress(b"one ", mtime=0) + gzip.compress(b"two"), "gzip") == b"one two"


def test_what_expands_to_more_than_the_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """B08."""
    monkeypatch.setattr(bodies, "LARGEST_EXPANDED", 1000)
    assert len(expand(gzip.compress(b"a" * 1000, mtime=0), "gzip")) == 1000
    for body in (gzip.compress(b"a" * 1001, mtime=0), gzip.compress(b"a" * 500) + gzip.compress(b"a" * 501)):
        with pytest.raises(ValueError, match="expands to more than 1000 bytes"):
            expand(body, "gzip")


@pytest.mark.parametrize(
    ("body", "encoding", "said"),
    [
        (b"plain", "br", "the content encoding 'br' is not one of gzip"),
        (b"plain", "gzip, gzip", "is not one of"),
        (b"plain", "gzip", "the body is not gzip"),
        (gzip.compress(b"hello", mtime=0)[:-9], "gzip", "the gzip body is cut short"),
    ],
)
def test_what_cannot_be_expanded_is_a_value_error_that_says_why(body: bytes, encoding: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        expand(body, encoding)


def test_an_event_shows_the_expanded_text_and_the_received_bytes() -> None:
    body = gzip.compress(b'\xef\xbb\xbf{"a":1}', mtime=0)
    event = Event(1, "shop", {"content-encoding": "gzip"}, body, datetime.now(UTC))
    assert (event.body, event.text, event.json) == (body, '{"a":1}', {"a": 1})
