"""YooKassa: what a notification says is asked of YooKassa itself."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from automations.yookassa import yookassa
from tidemill import app
from tidemill.app import App
from tidemill.model import Request
from tidemill.wire import Connection

from tests.automations.conftest import SECRETS
from tests.serving import serving

PAYMENT = "22e18a2f-000f-5000-a000-1db6312b7767"
ADDRESS = "185.71.76.3"
SETTINGS = {"YOOKASSA_SHOP_ID": "1017", "YOOKASSA_SECRET_KEY": "test_shop-secret-key"}


class FakeYooKassa(ThreadingHTTPServer):
    """Knows one payment, and remembers (path, authorization) of what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), FakeYooKassaHandler)
        self.asked: list[tuple[str, str]] = []


class FakeYooKassaHandler(BaseHTTPRequestHandler):
    server: FakeYooKassa

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"]))
        known = self.path == f"/payments/{PAYMENT}"
        found = {"id": PAYMENT, "status": "succeeded", "amount": {"value": "149.00", "currency": "RUB"}} if known else {}
        answer = json.dumps(found).encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def api() -> Iterator[FakeYooKassa]:
    with serving(FakeYooKassa()) as server:
        yield server


def load(database_url: str, api: FakeYooKassa, **settings: str) -> App:
    address = f"http://127.0.0.1:{api.server_port}"
    return app.load({**SECRETS, "DATABASE_URL": database_url, "YOOKASSA_API": address, "DRAIN_LINGER": "0", **settings})


@pytest.fixture
def machine(database_url: str, api: FakeYooKassa) -> Iterator[App]:
    loaded = load(database_url, api, **SETTINGS)
    yield loaded
    loaded.database.close()


def notified(event: str = "payment.succeeded", number: object = PAYMENT, source_ip: str = ADDRESS, **claims: Any) -> Any:
    body = json.dumps({"type": "notification", "event": event, "object": {"id": number, **claims}})
    http = {"method": "POST", "sourceIp": source_ip}
    return {"rawPath": "/hooks/yookassa", "headers": {}, "body": body, "requestContext": {"http": http}}


def test_what_yookassa_itself_says_is_recorded_and_not_what_was_claimed(
    machine: App, api: FakeYooKassa, connection: Connection
) -> None:
    assert machine.intake.handle(notified(status="waiting", amount={"value": "9999.00"}), None)["statusCode"] == 202
    assert machine.drain.handle({}, None)["done"] == 1
    credentials = base64.b64encode(b"1017:test_shop-secret-key").decode()
    assert api.asked == [(f"/payments/{PAYMENT}", f"Basic {credentials}")]
    ((result,),) = connection.execute("select result from jobs").fetchall()
    assert result == {"status": "succeeded", "amount": {"value": "149.00", "currency": "RUB"}}


def test_a_payment_that_yookassa_does_not_know_fails_for_good(machine: App, connection: Connection) -> None:
    machine.intake.handle(notified(number="00000000-0000-5000-a000-000000000000"), None)
    assert machine.drain.handle({}, None)["failed"] == 1
    ((attempts, error),) = connection.execute("select attempts, last_error from jobs").fetchall()
    assert attempts == 1
    assert "404" in error
    assert SETTINGS["YOOKASSA_SECRET_KEY"] not in error


def test_a_notification_from_another_network_is_not_taken(machine: App, connection: Connection) -> None:
    event = notified(source_ip="203.0.113.7")
    event["headers"] = {"x-forwarded-for": ADDRESS}
    assert machine.intake.handle(event, None)["statusCode"] == 401
    assert connection.execute("select count(*) from events").fetchall() == [(0,)]


def test_a_notification_that_is_repeated_is_asked_about_once(machine: App, api: FakeYooKassa) -> None:
    assert [machine.intake.handle(notified(), None)["statusCode"] for _ in range(3)] == [202] * 3
    machine.drain.handle({}, None)
    assert len(api.asked) == 1


@pytest.mark.parametrize(
    ("event", "number"),
    [("payout.succeeded", PAYMENT), ("payment.succeeded", "../refunds/1"), ("payment.succeeded", ""), ("payment", 5)],
)
def test_what_is_no_payment_and_no_refund_is_stored_and_asked_of_nobody(
    machine: App, connection: Connection, event: str, number: object
) -> None:
    answer = machine.intake.handle(notified(event, number), None)
    assert (answer["statusCode"], json.loads(answer["body"])["jobs"]) == (202, 0)
    assert connection.execute("select route_error from events").fetchall() == [(None,)]


def test_without_its_settings_a_job_says_which_and_can_be_retried(
    database_url: str, api: FakeYooKassa, connection: Connection
) -> None:
    machine = load(database_url, api)
    assert machine.sources["yookassa"].missing(machine.settings) == []
    machine.intake.handle(notified(), None)
    assert machine.drain.handle({}, None)["failed"] == 1
    ((error,),) = connection.execute("select last_error from jobs").fetchall()
    assert error == "missing settings: YOOKASSA_SHOP_ID, YOOKASSA_SECRET_KEY: set them, and retry this job"
    machine.database.close()


def test_a_refund_is_asked_for_among_the_refunds(machine: App, api: FakeYooKassa) -> None:
    machine.intake.handle(notified("refund.succeeded"), None)
    machine.drain.handle({}, None)
    assert [path for path, _ in api.asked] == [f"/refunds/{PAYMENT}"]


def test_the_dedup_key_is_the_event_and_the_payment() -> None:
    body = notified()["body"].encode()
    verdict = yookassa.check(Request("POST", "https://x.test/hooks/yookassa", [], body, ADDRESS), {}, 0)
    assert getattr(verdict, "dedup_key", verdict) == f"payment.succeeded:{PAYMENT}"
