"""functions/intake: what was refused is visible without being stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tidemill.db import Database
from tidemill.model import Refused, Request
from tidemill.rejections import MOST_HEADERS, NO_SOURCE, REASONS
from tidemill.source import Source
from tidemill.wire import Connection, statement

from functions.replay.app import handler as replay
from tests.functions.intake import sources
from tests.functions.intake.conftest import Call, Event, MakeEvent, delivery, log_line, rows, sign, written_lines
from tests.functions.intake.direct import intake
from tests.functions.intake.sources import SECRETS


def refused(**fields: Any) -> list[dict[str, Any]]:
    """What the operator is told, the latest first."""
    answer = json.loads(json.dumps(replay({"command": "rejected", **fields}, None)))
    assert answer["ok"] is True
    found: list[dict[str, Any]] = answer["rejected"]
    return found


def forged(make: MakeEvent, **headers: str) -> Event:
    return make("/hooks/shop", b"private-body", {"X-Shop-Signature": sign(b"{}", "forged"), **headers})


def test_a_forgery_is_counted_with_a_sample_that_holds_nothing_of_what_it_said(
    call: Call, make: MakeEvent, connection: Connection
) -> None:
    for _ in range(2):
        call(forged(make, Authorization="Bearer hush-hush", Cookie="hush-hush"))
    [one] = refused()
    assert (one["source"], one["reason"], one["count"]) == ("shop", "the signature in X-Shop-Signature does not match", 2)
    assert one["sample"] == {
        "status": 401,
        "method": "POST",
        "path": "/hooks/shop",
        "headers": ["x-shop-signature", "authorization", "cookie"],
        "body_bytes": len("private-body"),
        "source_ip": "192.0.2.1",
    }
    assert rows(connection, "id", "events") == []


def test_each_kind_of_refusal_has_its_reason(call: Call, make: MakeEvent, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("PLAIN_WEBHOOK_SECRET", " ")
    for event, status in (
        (make("/hooks/nobody", b"{}"), 404),
        (make("/hook/shop", b"{}"), 404),
        (make("/hooks/shop", b" " * (1024 * 1024 + 1)), 413),
        (make("/hooks/shop", b"{}", method="PUT"), 405),
        (make("/hooks/hello", method="GET"), 405),
        ({**make("/hooks/shop", b"{}"), "body": "e30=!"}, 400),
        (make("/hooks/plain", b"{}"), 503),
        (forged(make), 401),
    ):
        assert call(event).status == status
    found = {(one["source"], one["sample"]["status"], one["reason"], one["count"]) for one in refused()}
    assert found == {
        (NO_SOURCE, 404, "there is no such source", 1),
        (NO_SOURCE, 404, "there is nothing here; deliveries go to POST /hooks/{source}", 1),
        ("shop", 413, "the body is larger than 1048576 bytes", 1),
        ("shop", 405, "use POST", 1),
        ("hello", 405, "use POST", 1),
        ("shop", 400, "the body is not valid base64", 1),
        ("plain", 503, "missing settings: PLAIN_WEBHOOK_SECRET", 1),
        ("shop", 401, "the signature in X-Shop-Signature does not match", 1),
    }


def test_a_refusal_is_a_metric_by_source_and_by_source_and_reason(
    call: Call, make: MakeEvent, capsys: pytest.CaptureFixture[str]
) -> None:
    call(forged(make))
    (line,) = [line for line in written_lines(capsys.readouterr().out) if "_aws" in line]
    (directive,) = line.pop("_aws")["CloudWatchMetrics"]
    assert directive["Dimensions"] == [["source"], ["source", "reason"]]
    assert line == {"source": "shop", "reason": "unverified", "EventsRejected": 1}


def test_a_refusal_is_a_log_line_without_the_body(call: Call, make: MakeEvent, capsys: pytest.CaptureFixture[str]) -> None:
    call(forged(make, X_Correlation_Id="c-1"))
    written = capsys.readouterr().out
    line = log_line(written, "refused")
    assert (line["source"], line["status"], line["path"]) == ("shop", 401, "/hooks/shop")
    assert "private-body" not in written


def test_whatever_an_attacker_calls_is_one_source_and_few_metrics(
    call: Call, make: MakeEvent, capsys: pytest.CaptureFixture[str], connection: Connection
) -> None:
    for number in range(60):
        call(make(f"/hooks/guess-{number}", b"{}"))
        call(make(f"/guess/{number}", b"{}", method=f"M{number}"))
        call(make("/hooks/shop", b"{}", {"X-Shop-Signature": f"{number:02x}", f"X-{number}": "1"}, method="POST"))
    lines = [line for line in written_lines(capsys.readouterr().out) if "_aws" in line]
    assert {(line["source"], line["reason"]) for line in lines} == {(NO_SOURCE, "no source"), ("shop", "unverified")}
    assert len(rows(connection, "source, reason", "rejections")) == 3


def test_every_reason_of_the_metric_is_given_by_a_status() -> None:
    assert len(set(REASONS.values())) == len(REASONS)


def test_a_sample_is_bounded_and_can_be_stored(call: Call, make: MakeEvent) -> None:
    headers = {f"X-{number}-{'h' * 500}": "v" * 1000 for number in range(200)}
    event = make("/hooks/" + "%00\ud800é" * 5000, b"{}", headers, method="M" * 5000)
    assert call(event).status == 404
    [one] = refused()
    sample = one["sample"]
    assert len(sample["headers"]) == MOST_HEADERS
    assert len(json.dumps(sample, ensure_ascii=False).encode()) < 3000


def test_a_secret_in_an_address_or_in_the_name_of_a_header_is_taken_out(call: Call, make: MakeEvent) -> None:
    secret = SECRETS["SHOP_WEBHOOK_SECRET"]
    encoded = "".join(f"%{byte:02x}" for byte in secret.encode())
    for count, path in enumerate((secret, encoded, "x" * 180 + secret), 1):
        call(make(f"/hooks/{path}", b"{}", {f"X-{secret}": "1"}))
        [one] = refused()
        assert one["count"] == count
        assert not [text for text in (secret[:8], encoded[:20]) if text in json.dumps(one)]


def test_a_reason_of_a_verification_of_ones_own_is_cut_and_holds_no_secret(
    database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def verify(request: Request, settings: Any, now: float) -> Refused:
        return Refused(f"{'x' * 195}{settings['SHOP_WEBHOOK_SECRET']}\x00{'y' * 1000}")

    monkeypatch.setattr(sources.shop, "verify", verify)
    assert intake(Database(database_url)).handle(delivery({}), None)["statusCode"] == 401
    [(reason,)] = rows(connection, "reason", "rejections")
    assert len(reason.encode()) <= 200
    assert not reason.endswith("shop")


def test_refusals_that_were_no_deliveries_do_not_make_a_source_look_dead(
    call: Call, make: MakeEvent, connection: Connection
) -> None:
    """Scanners and browsers; what is forged does, since it may be the sender with a wrong secret."""
    for event in (make("/hooks/shop", method="GET"), make("/hooks/nobody", b"{}"), forged(make)):
        call(event)
    connection.execute("update rejections set count = 6")
    watch = connection.execute(statement("watch"), {"rejections": 5}).fetchall()
    assert [refusing for _, refusing in watch] == [{"shop": 6}]


def test_a_source_of_ones_own_cannot_be_called_like_no_source() -> None:
    with pytest.raises(Exception, match="name must be"):
        Source(NO_SOURCE, lambda request, settings, now: Refused("no"))
