"""Presets on a whole machine: what their senders are answered, and what becomes of a subscription of Amazon SNS."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests
from tidemill import Event, NewJob, Source, handlers, senders
from tidemill.app import App
from tidemill.settings import Settings
from tidemill.wire import Connection

from tests.senders.certifying import PEM
from tests.senders.samples import ADYEN, ADYEN_KEY, SECRET, tbank_body
from tests.senders.test_sns import SNS_CERTIFICATE, SUBSCRIBE, TOPIC, sns_request
from tests.serving import serving

SETTINGS = {"ADYEN_WEBHOOK_SECRET": ADYEN_KEY, "TBANK_WEBHOOK_SECRET": SECRET, "DRAIN_LINGER": "0"}
topic = senders.sns("orders", topic_arns=[TOPIC], fetch={SNS_CERTIFICATE: PEM}.__getitem__)


@topic.route
def orders(event: Event) -> Iterator[NewJob]:
    yield NewJob("order", json.loads(event.json["Message"]))


def machine(database_url: str, *sources: Source, **settings: str) -> App:
    return App(Settings({"DATABASE_URL": database_url} | SETTINGS | settings), handlers.declared.of([__name__]), sources)


def call(app: App, source: str, body: bytes, headers: dict[str, str] | None = None, method: str = "POST") -> dict[str, Any]:
    http = {"method": method, "sourceIp": "192.0.2.1"}
    event = {"rawPath": f"/hooks/{source}", "headers": headers, "body": body.decode(), "requestContext": {"http": http}}
    return app.intake.handle(event, None)


@pytest.mark.parametrize(
    ("source", "body", "answer"), [(senders.adyen(), ADYEN, "[accepted]"), (senders.tbank(), tbank_body(), "OK")]
)
def test_a_sender_reads_what_it_wants_to_read_of_what_is_stored(
    database_url: str, connection: Connection, source: Source, body: bytes, answer: str
) -> None:
    app = machine(database_url, source)
    for _ in range(2):  # a repetition, too
        answered = call(app, source.name, body)
        assert (answered["statusCode"], answered["headers"]["content-type"], answered["body"]) == (200, "text/plain", answer)
        assert answered["headers"]["Location"].startswith("/events/")
    assert connection.execute("select count(*), sum(redeliveries) from events").fetchall() == [(1, 1)]
    assert call(app, source.name, b"{}")["statusCode"] == 401
    app.database.close()


def test_the_token_of_notion_is_in_the_log_until_it_is_a_setting(
    database_url: str, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    body = b'{"verification_token":"secret_tMrl1qK5vuQ"}'
    for settings, shown in (({}, "secret_tMrl1qK5vuQ"), ({"NOTION_WEBHOOK_SECRET": "secret_tMrl1qK5vuQ"}, "***")):
        app = machine(database_url, senders.notion(), **settings)
        assert call(app, "notion", body)["statusCode"] == 200
        (line,) = [line for line in capsys.readouterr().out.splitlines() if "handshake" in line]
        assert json.loads(line)["note"] == f"the verification token is {shown}"
        app.database.close()
    assert connection.execute("select count(*) from events").fetchall() == [(0,)]


def test_without_its_secret_a_source_takes_nothing_though_it_answers_a_handshake(
    database_url: str, connection: Connection
) -> None:
    app = machine(database_url, senders.notion())
    assert call(app, "notion", b'{"id":"1"}')["statusCode"] == 503
    assert connection.execute("select count(*) from events").fetchall() == [(0,)]
    app.database.close()


@pytest.fixture
def amazon(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What is asked of Amazon, which is here: addresses on its host lead to this machine."""
    asked: list[str] = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Answers)) as server:
        real = requests.Session.get
        here = f"http://127.0.0.1:{server.server_port}"

        def get(self: requests.Session, url: str, **options: Any) -> requests.Response:
            return real(self, url.replace("https://sns.eu-central-1.amazonaws.com", here), **options)

        monkeypatch.setattr(requests.Session, "get", get)
        yield asked


def test_a_subscription_to_a_listed_topic_is_confirmed_by_a_job(
    database_url: str, connection: Connection, amazon: list[str]
) -> None:
    """The route of notifications, which could not read it, does not get it."""
    app = machine(database_url, topic)
    answered = call(app, "orders", sns_request(**SUBSCRIBE).body)
    assert (answered["statusCode"], json.loads(answered["body"])["jobs"]) == (202, 1)
    assert app.drain.handle({}, None)["done"] == 1
    assert amazon == ["/?Action=ConfirmSubscription&TopicArn=a&Token=tok"]
    assert connection.execute("select kind, status from jobs").fetchall() == [("orders.confirm", "done")]
    app.database.close()


def test_a_notification_goes_to_the_routes_and_confirms_nothing(
    database_url: str, connection: Connection, amazon: list[str]
) -> None:
    app = machine(database_url, topic)
    assert call(app, "orders", sns_request(Message='{"number":7}').body)["statusCode"] == 202
    assert connection.execute("select kind, payload from jobs").fetchall() == [("order", {"number": 7})]
    assert amazon == []
    app.database.close()


def test_a_subscription_to_a_topic_of_somebody_else_is_refused(
    database_url: str, connection: Connection, amazon: list[str]
) -> None:
    app = machine(database_url, topic)
    sent = sns_request(**SUBSCRIBE, TopicArn="arn:aws:sns:eu-central-1:999999999999:evil")
    assert call(app, "orders", sent.body)["statusCode"] == 401
    assert connection.execute("select count(*) from events").fetchall() == [(0,)]
    app.database.close()
