"""functions/intake: bodies of every kind are stored exactly, and never a reason for a 5xx."""

from __future__ import annotations

import gzip

import pytest
from tidemill.wire import Connection

from tests.functions.intake.conftest import Call, MakeEvent, delivery, metrics, rows, sign, v1, v2


def test_both_formats_and_both_encodings_of_a_delivery_are_one(call: Call, connection: Connection) -> None:
    """B09, B19: text or base64, any case of the headers."""
    body = '{"orders": [1], "name": "é"}'
    upper, lower = {"X-SHOP-SIGNATURE": sign(body.encode()), "X-SHOP-DELIVERY": "d"}, {}
    for event in (
        v1("/hooks/shop", body.encode(), upper),
        {**v1("/hooks/shop", b"", upper), "body": body, "isBase64Encoded": False},
        v2("/hooks/shop", body.encode(), upper),
        {**v2("/hooks/shop", b"", upper), "body": body, "isBase64Encoded": False},
        {**v1("/hooks/shop", body.encode(), upper), "multiValueHeaders": None},
    ):
        lower = call(event).body
    assert lower["duplicate"] is True
    assert rows(connection, "body, redeliveries, mismatches", "events") == [(body.encode(), 4, 0)]


@pytest.mark.parametrize("empty", [None, ""])
def test_an_empty_body_that_is_signed_is_an_event(
    call: Call, make: MakeEvent, connection: Connection, empty: str | None
) -> None:
    """B10."""
    event = {**make("/hooks/shop", None, {"X-Shop-Signature": sign(b"")}), "body": empty}
    assert call(event).body["jobs"] == 0
    assert rows(connection, "body, route_error is not null", "events") == [(b"", True)]


@pytest.mark.parametrize(
    "body",
    [
        b'{"payload": "\\ud800"}',
        b'{"payload": "a\\u0000b"}',
        b"[" * 20_000 + b"]" * 20_000,
        b'{"payload": ' + b"[" * 201 + b"]" * 201 + b"}",
        b'{"payload": NaN}',
        b'{"payload": Infinity}',
        b'{"payload": 1e999}',
        b'{"payload": ' + b"9" * 5000 + b"}",
        b'{"payload": \xff}',
        b'{"a": "\xff"}',
        b"{",
        b"",
        b"null",
        b'{"orders": 5}',
        b'{"raise": "a\\u0000b \\udc80"}',
    ],
)
def test_a_body_that_cannot_be_routed_is_kept_exactly(
    call: Call, make: MakeEvent, connection: Connection, capsys: pytest.CaptureFixture[str], body: bytes
) -> None:
    """B01, B06, B11: the sender did its part; the fault is ours, and a duplicate is one all the same."""
    answer = call(delivery(body, "d", make=make))
    assert (answer.status, answer.body) == (202, {"id": answer.body["id"], "jobs": 0})
    assert metrics(capsys.readouterr().out) == [("EventsAccepted", "shop"), ("EventsUnrouted", "shop")]
    assert rows(connection, "body, route_error <> ''", "events") == [(body, True)]
    assert rows(connection, "id", "jobs") == []
    assert call(delivery(body, "d", make=make)).body == {"id": answer.body["id"], "duplicate": True}


def test_what_json_can_hold_reaches_the_job_unharmed(call: Call, make: MakeEvent, connection: Connection) -> None:
    """B11: of a repeated key the last one counts."""
    call(delivery(b'{"b":1, "a":"\\u003cp\\u003e\xf0\x9f\x91\x8d", "payload": {"a": 1, "a": "\\\\u0000"}}', make=make))
    assert rows(connection, "payload", "jobs") == [({"a": "\\u0000"},)]


@pytest.mark.parametrize("depth", [198, 199])
def test_two_hundred_levels_are_the_limit(call: Call, make: MakeEvent, connection: Connection, depth: int) -> None:
    """B06: the same on every Python; the body's object is a level of its own."""
    call(delivery(b'{"payload": ' + b"[" * depth + b"]" * depth + b"}", make=make))
    assert rows(connection, "route_error", "events") == [(None,)]


@pytest.mark.parametrize(
    ("source", "body", "payload"),
    [
        ("shop", b'\xef\xbb\xbf{"payload": {"a": 1}}', {"a": 1}),
        ("form", b"\xef\xbb\xbfa=1&b=%C3%A9+x", {"a": "1", "b": "é x"}),
    ],
)
def test_a_byte_order_mark_is_signed_and_stored_but_not_parsed(
    call: Call, make: MakeEvent, connection: Connection, source: str, body: bytes, payload: object
) -> None:
    """B07."""
    assert call(delivery(body, source=source, make=make)).body["jobs"] == 1
    assert rows(connection, "body", "events") == [(body,)]
    assert rows(connection, "payload", "jobs") == [(payload,)]


def test_a_compressed_body_is_verified_and_stored_as_sent_and_parsed_expanded(
    call: Call, make: MakeEvent, connection: Connection
) -> None:
    """B08."""
    body = gzip.compress(b'{"orders": [1]}')
    assert call(delivery(body, make=make, Content_Encoding="GZIP")).body["jobs"] == 1
    assert rows(connection, "body, route_error", "events") == [(body, None)]


# A megabyte that expands to a gigabyte.
BOMB = gzip.compress(b" " * 16 * 1024 * 1024) * 64


@pytest.mark.parametrize(("encoding", "body"), [("gzip", BOMB), ("br", b"{}"), ("gzip", b"{}"), ("gzip", BOMB[:-9])])
def test_a_body_that_cannot_be_expanded_is_kept(
    call: Call, make: MakeEvent, connection: Connection, encoding: str, body: bytes
) -> None:
    """B08."""
    assert call(delivery(body, make=make, Content_Encoding=encoding)).status == 202
    ((stored, error),) = rows(connection, "body, route_error", "events")
    assert stored == body
    assert error.startswith("ValueError: ")
