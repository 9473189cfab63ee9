"""functions/intake: what is stored of a delivery, answered and told."""

from __future__ import annotations

import logging
from datetime import UTC

import pytest
from tidemill.wire import Connection

from tests.functions.intake.conftest import Call, MakeEvent, delivery, log_line, metrics, rows, sign, v1, v2
from tests.functions.intake.sources import SECRETS

TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_a_genuine_delivery_is_an_event_with_its_jobs(call: Call, make: MakeEvent, connection: Connection) -> None:
    body = b'{"orders": [7, 8], "note": "\xf0\x9f\x91\x8d"}'
    answer = call(delivery(body, "d1", make=make, X_Correlation_Id="c-1"))
    (event,) = rows(connection, "id, source, dedup_key, body, correlation_id, route_error", "events")
    assert (answer.status, answer.body) == (202, {"id": event[0], "jobs": 2})
    assert event[1:] == ("shop", "d1", body, "c-1", None)
    jobs = rows(connection, "kind, key, payload->>'number', status, event_id, correlation_id, attempts", "jobs")
    assert jobs == [("order", n, n, "pending", event[0], "c-1", 0) for n in ("7", "8")]


def test_a_repeat_is_told_and_makes_nothing(call: Call, make: MakeEvent, connection: Connection) -> None:
    """B25, B29."""
    first, second = [call(delivery({"orders": [1]}, "d1", make=make)) for _ in range(2)]
    assert (second.status, second.body) == (202, {"id": first.body["id"], "duplicate": True})
    assert second.headers["Location"] == first.headers["Location"]
    assert rows(connection, "redeliveries, redelivered_at >= received_at", "events") == [(1, True)]
    assert len(rows(connection, "id", "jobs")) == 1


def test_a_fault_of_a_route_takes_back_the_jobs_that_came_before_it(call: Call, connection: Connection) -> None:
    secret = SECRETS["SHOP_WEBHOOK_SECRET"]
    assert call(delivery({"orders": [1, 2], "raise": f"no such thing as {secret}"})).body["jobs"] == 0
    assert rows(connection, "route_error", "events") == [("ValueError: no such thing as ***",)]
    assert rows(connection, "id", "jobs") == []


def test_headers_are_stored_without_secrets(call: Call, make: MakeEvent, connection: Connection) -> None:
    """B84: a route does not see them either."""
    secret = {
        "Authorization": "Basic abc", "Cookie": "session=abc", "X-Api-Key": "abc", "X-Auth": "abc", "X-Gitlab-Token": "abc",
    }  # fmt: skip
    open_to_all = {
        "User-Agent": "shop/1.0",
        "X-Echo": f"it is {SECRETS['SHOP_WEBHOOK_SECRET']}",
    }
    body = b'{"orders": [1]}'
    call(make("/hooks/shop", body, {"X-Shop-Signature": sign(body), "X-Shop-Delivery": "d", **secret, **open_to_all}))
    assert rows(connection, "headers", "events") == [
        (
            {
                **dict.fromkeys(["x-shop-signature", *map(str.lower, secret)], "***"),
                "user-agent": "shop/1.0", "x-echo": "it is ***", "x-shop-delivery": "d",
            },
        )
    ]  # fmt: skip
    assert rows(connection, "payload->>'secret'", "jobs") == [("***",)]


def test_headers_that_postgres_cannot_hold_are_cleaned(call: Call, connection: Connection) -> None:
    call(delivery({}, X_Odd="a\x00b\ud800"))
    assert rows(connection, "headers->>'x-odd'", "events") == [("a\ufffdb\ufffd",)]


def test_a_header_that_comes_twice_is_stored_with_both_values(call: Call, connection: Connection) -> None:
    event = delivery({}, make=v1)
    event["multiValueHeaders"]["X-Tag"] = ["a", "b"]
    call(event)
    assert rows(connection, "headers->>'x-tag'", "events") == [("a, b",)]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"X-Correlation-Id": "c-1", "X-Request-Id": "r-1"}, "c-1"),
        ({"X-Request-Id": "r.1_2", "traceparent": "00-1-2-01"}, "r.1_2"),
        ({"traceparent": TRACEPARENT}, TRACEPARENT),
        ({"X-Correlation-Id": "not safe", "X-Request-Id": "r-1"}, "r-1"),
        ({"X-Correlation-Id": "a" * 128}, "a" * 128),
    ],
)  # fmt: skip
def test_the_senders_correlation_id_goes_to_event_and_jobs_and_log(
    call: Call, connection: Connection, capsys: pytest.CaptureFixture[str], headers: dict[str, str], expected: str
) -> None:
    body = b'{"orders": [1]}'
    call(v2("/hooks/shop", body, {"X-Shop-Signature": sign(body), **headers}))
    assert rows(connection, "correlation_id", "events") == rows(connection, "correlation_id", "jobs") == [(expected,)]
    assert log_line(capsys.readouterr().out, "accepted")["correlation_id"] == expected


@pytest.mark.parametrize("value", [None, "", "a b", "a\n", "é", "a" * 129, '{"a":1}'])
def test_a_correlation_id_that_is_not_safe_is_replaced(call: Call, connection: Connection, value: str | None) -> None:
    for _ in range(2):
        call(delivery({}, **({} if value is None else {"X_Correlation_Id": value})))
    first, second = (row[0] for row in rows(connection, "correlation_id", "events"))
    assert len(first) == len(second) == 32
    assert first != second


def test_the_status_address_tells_of_jobs_and_never_of_payloads(call: Call, make: MakeEvent, connection: Connection) -> None:
    answer = call(delivery({"orders": [7]}, make=make))
    status = call(make(answer.headers["Location"], method="GET"))
    ((received_at,),) = rows(connection, "received_at", "events")
    ((job_id,),) = rows(connection, "id", "jobs")
    assert status.status == 200
    assert status.body == {
        "id": answer.body["id"],
        "received_at": received_at.astimezone(UTC).isoformat(),
        "jobs": [{"id": job_id, "kind": "order", "status": "pending"}],
    }


def test_a_status_address_cannot_be_guessed(call: Call, make: MakeEvent, connection: Connection) -> None:
    first, second = [call(delivery({}, make=make)) for _ in range(2)]
    token = first.headers["Location"].partition("-")[2]
    assert len(token) == 32
    number = second.body["id"]
    for guess in (
        f"{number}",
        f"{number}-",
        f"{number}-{token}",
        f"{number}-é",
        f"x-{token}",
        f"-{token}",
        f"{'9' * 30}-{token}",
        "9-None",
    ):
        assert call(make(f"/events/{guess}", method="GET")).status == 404, guess
    connection.execute("update events set token = null")
    for guess in (f"{number}-", f"{number}-None"):
        assert call(make(f"/events/{guess}", method="GET")).status == 404, guess


def test_each_delivery_is_counted_by_source(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        call(delivery({}, "d"))
    assert metrics(capsys.readouterr().out) == [("EventsAccepted", "shop"), ("EventsDuplicate", "shop")]


def test_nothing_that_is_written_holds_a_secret_or_a_body(
    call: Call, environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """B84."""
    caplog.set_level(logging.DEBUG)
    marked = {"orders": ["private-order"], "raise": SECRETS["SHOP_WEBHOOK_SECRET"]}
    call(delivery(marked, "d", Authorization="Bearer hush-hush"))
    call(v2("/hooks/shop", b"private-body", {"X-Shop-Signature": "0" * 64, "Cookie": "hush-hush"}))
    environment.setenv("DATABASE_URL", "postgresql://tide:hush-hush@127.0.0.1:1/none")
    call(delivery(marked, "d"))
    captured = capsys.readouterr()
    written = captured.out + captured.err + caplog.text
    assert "unrouted" in written
    assert not [word for word in ("hush-hush", "private", *SECRETS.values()) if word in written]
