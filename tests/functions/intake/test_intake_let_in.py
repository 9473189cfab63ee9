"""functions/intake: who is let in, and what the others are told."""

from __future__ import annotations

import json

import pytest
from tidemill.wire import Connection

from tests.functions.intake.conftest import Call, MakeEvent, delivery, log_line, metrics, rows, sign, v1, v2
from tests.functions.intake.sources import SECRETS


def test_an_unknown_source_is_not_there(call: Call, make: MakeEvent, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(delivery({}, source="nobody", make=make)).status == 404
    written = capsys.readouterr().out
    assert log_line(written, "refused")["path"] == "/hooks/nobody"
    assert metrics(written) == [("EventsRejected", "(none)")]


@pytest.mark.parametrize(
    "path", ["", "/", "/hooks", "/hooks/shop/more", "/hook/shop", "/events", "/health/more", "/hooks/%2E%2E"]
)
def test_an_unknown_path_is_not_there(call: Call, make: MakeEvent, path: str) -> None:
    assert call(make(path)).status == 404


def test_a_body_over_the_limit_is_refused_before_anything_is_checked(
    call: Call, make: MakeEvent, connection: Connection
) -> None:
    body = b" " * (1024 * 1024 - 2) + b"{}"
    assert call(delivery(body, make=make)).status == 202
    refused = call(make("/hooks/shop", body + b" ", method="PUT"))
    assert (refused.status, refused.body) == (413, {"error": "the body is larger than 1048576 bytes"})
    assert len(rows(connection, "id", "events")) == 1


def test_the_largest_body_is_a_setting(call: Call, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("MAX_BODY_BYTES", "10")
    assert (call(delivery(b'{"a":"12"}')).status, call(delivery(b'{"a":"123"}')).status) == (202, 413)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_another_method_than_post_is_not_allowed(call: Call, make: MakeEvent, method: str) -> None:
    answer = call(make("/hooks/shop", b"{}", {"X-Shop-Signature": sign(b"{}")}, method=method))
    assert (answer.status, answer.headers["Allow"]) == (405, "POST")


def test_base64_that_is_none_is_a_bad_request(call: Call, make: MakeEvent, connection: Connection) -> None:
    """B09."""
    answer = call({**delivery({}, make=make), "body": "e30=!"})
    assert (answer.status, answer.body) == (400, {"error": "the body is not valid base64"})
    assert rows(connection, "id", "events") == []


def test_a_forgery_is_refused_and_leaves_no_row(
    call: Call, make: MakeEvent, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = call(make("/hooks/shop", b"{}", {"X-Shop-Signature": sign(b"{}", "another secret"), "X-Shop-Delivery": "d"}))
    assert (answer.status, answer.body) == (401, {"error": "the request could not be verified"})
    assert rows(connection, "id", "events") == rows(connection, "id", "jobs") == []
    written = capsys.readouterr().out
    assert log_line(written, "refused")["reason"] == "the signature in X-Shop-Signature does not match"
    assert metrics(written) == [("EventsRejected", "shop")]


@pytest.mark.parametrize("sent", [None, "", "é", "sha256=00"])
def test_a_signature_that_is_none_is_refused(call: Call, make: MakeEvent, sent: str | None) -> None:
    """B18."""
    assert call(make("/hooks/shop", b"{}", {} if sent is None else {"X-Shop-Signature": sent})).status == 401


def test_a_token_that_is_not_ascii_is_refused(call: Call, make: MakeEvent) -> None:
    """B18."""
    assert call(make("/hooks/bot", b"{}", {"X-Bot-Token": "é"})).status == 401
    assert call(make("/hooks/bot", b"{}", {"X-Bot-Token": SECRETS["BOT_WEBHOOK_SECRET"]})).status == 202


def test_a_secret_that_is_not_ascii_lets_in_who_has_it(call: Call, make: MakeEvent, environment: pytest.MonkeyPatch) -> None:
    """B18."""
    environment.setenv("BOT_WEBHOOK_SECRET", "geheim-é")
    environment.setenv("PLAIN_WEBHOOK_SECRET", "geheim-é")
    assert call(make("/hooks/bot", b"{}", {"X-Bot-Token": "geheim-é"})).status == 202
    assert call(make("/hooks/bot", b"{}", {"X-Bot-Token": "geheim-e"})).status == 401
    assert call(make("/hooks/plain", b"{}", {"X-Shop-Signature": sign(b"{}", "geheim-é")})).status == 202


@pytest.mark.parametrize("name", ["X-Shop-Signature", "X-Shop-Delivery"])
def test_a_header_with_two_values_is_refused_in_both_formats(call: Call, name: str, connection: Connection) -> None:
    """B20."""
    sent = {"X-Shop-Signature": sign(b"{}"), "X-Shop-Delivery": "d1"}
    two, one = delivery(b"{}", "d1"), v1("/hooks/shop", b"{}", sent)
    two["headers"][name.lower()] = f"other,{sent[name]}"
    one["multiValueHeaders"][name] = ["other", sent[name]]
    assert [call(two).status, call(one).status] == [401, 401]
    one["multiValueHeaders"][name] = [sent[name], sent[name]]
    assert call(one).status == 202
    assert rows(connection, "dedup_key", "events") == [("d1",)]


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        {},
        {"key1": "value1"},
        {"body": None, "headers": None, "multiValueHeaders": None},
        {"requestContext": None, "path": None},
    ],
)
def test_an_event_that_is_no_delivery_is_answered(call: Call, event: object) -> None:
    """B10."""
    assert call(event).status == 404


def test_nulls_in_a_delivery_refuse_it(call: Call, make: MakeEvent) -> None:
    """B10."""
    nulls = {**make("/hooks/shop"), "headers": None, "multiValueHeaders": None, "isBase64Encoded": None}
    assert call(nulls).status == 401
    without_body = make("/hooks/shop")
    del without_body["body"]
    assert call(without_body).status == 401


@pytest.mark.parametrize("secret", [None, "", " ", " , "])
def test_a_source_without_its_secret_refuses_for_now_and_says_so_once(
    call: Call,
    make: MakeEvent,
    environment: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    connection: Connection,
    secret: str | None,
) -> None:
    """B14: not even what is signed with the empty key gets in, and the other sources go on."""
    environment.delenv("PLAIN_WEBHOOK_SECRET")
    if secret is not None:
        environment.setenv("PLAIN_WEBHOOK_SECRET", secret)
    for key in (secret or "", ""):
        answer = call(make("/hooks/plain", b"{}", {"X-Shop-Signature": sign(b"{}", key)}))
        assert answer.status == 503
        assert "Retry-After" in answer.headers
    assert rows(connection, "id", "events") == []
    written = capsys.readouterr().out
    assert [line["missing"] for line in map(json.loads, written.splitlines()) if "missing" in line] == [
        ["PLAIN_WEBHOOK_SECRET"]
    ]
    assert metrics(written) == [("EventsRejected", "plain")] * 2
    assert call(delivery({})).status == 202


def test_a_secret_that_rotates_lets_both_in_and_a_blank_one_is_named(
    call: Call, make: MakeEvent, environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """B15, B16."""
    environment.setenv("PLAIN_WEBHOOK_SECRET", "new-secret\r\n, old-secret\n,,")
    keys = ["old-secret", "new-secret", "", " ", "\n"]
    answers = [call(make("/hooks/plain", b"{}", {"X-Shop-Signature": sign(b"{}", key)})).status for key in keys]
    assert answers == [202, 202, 401, 401, 401]
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    assert [line["setting"] for line in lines if "blank" in str(line.get("message"))] == ["PLAIN_WEBHOOK_SECRET"]


def test_a_handshake_is_answered_at_once(call: Call, connection: Connection) -> None:
    """A GET reaches the verification, and is anything but a handshake not allowed."""
    challenge = {**v2("/hooks/hello", method="GET"), "rawQueryString": "challenge=abc"}
    assert call(challenge) == (200, "abc", {"content-type": "text/plain"})
    assert call(v2("/hooks/hello", b"genuine", method="GET")).status == 405
    assert call(v2("/hooks/hello", b"genuine")).status == 202
    assert call(v2("/hooks/hello", b"other")).status == 401
    assert len(rows(connection, "id", "events")) == 1


@pytest.mark.parametrize("path", ["/health", "/events/1-a"])
def test_addresses_to_read_from_take_only_get(call: Call, make: MakeEvent, path: str) -> None:
    answer = call(make(path))
    assert (answer.status, answer.headers["Allow"]) == (405, "GET")


def test_health_is_ok_while_the_database_answers(call: Call, make: MakeEvent) -> None:
    assert call(make("/health", method="GET"))[:2] == (200, {"ok": True})


def test_without_a_database_everything_is_to_be_sent_again(
    call: Call, make: MakeEvent, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("DATABASE_URL", "postgresql://tide:hush-hush@127.0.0.1:1/none")
    for event in (delivery({}, make=make), make("/health", method="GET"), make("/events/1-a", method="GET")):
        answer = call(event)
        assert answer.status == 503
        assert int(answer.headers["Retry-After"]) > 0
    assert call(make("/hooks/shop", b"{}", {"X-Shop-Signature": "00"})).status == 401
