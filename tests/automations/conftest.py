"""The shipped automations on a whole machine: the app as it is loaded, with a Telegram of the test's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tidemill import app
from tidemill.app import App
from tidemill.model import Job
from tidemill.wire import Connection

from local.mail import MailProvider
from tests.automations.invoicing import Shop
from tests.serving import serving

EVENTS = Path(__file__).parents[2] / "events"
SECRETS = {"SITE_WEBHOOK_SECRET": "site-test-secret", "TELEGRAM_WEBHOOK_SECRET": "telegram-test-secret"}


def sample(name: str) -> Any:
    """A payload of events/."""
    return json.loads((EVENTS / f"{name}.json").read_text("utf-8"))


def job(kind: str, payload: Any) -> Job:
    return Job(1, kind, payload, 1, 8, None, None, "c-1", "")


class FakeTelegram(ThreadingHTTPServer):
    """Answers as Telegram does, and remembers (method, body) of what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), FakeTelegramHandler)
        self.asked: list[tuple[str, Any]] = []
        self.name = "OurBot"


class FakeTelegramHandler(BaseHTTPRequestHandler):
    server: FakeTelegram

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = self.path.rsplit("/", 1)[1]
        self.server.asked.append((method, body))
        result = {"id": 1, "is_bot": True, "username": self.server.name} if method == "getMe" else {"message_id": 1}
        answer = json.dumps({"ok": True, "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def telegram() -> Iterator[FakeTelegram]:
    with serving(FakeTelegram()) as server:
        yield server


@pytest.fixture
def machine(database_url: str, telegram: FakeTelegram) -> Iterator[App]:
    loaded = app.load(
        {
            **SECRETS,
            "DATABASE_URL": database_url,
            "TELEGRAM_API": f"http://127.0.0.1:{telegram.server_port}",
            "TELEGRAM_BOT_TOKEN": "123456:AA-test",
            "TELEGRAM_ALERT_CHAT_ID": "-7",
            "DRAIN_LINGER": "0",
        }
    )
    yield loaded
    loaded.database.close()


@pytest.fixture
def shop(database_url: str, connection: Connection) -> Iterator[Shop]:
    """A database with invoices, a mail provider, and the machine between them."""
    provider = MailProvider()
    found = Shop(database_url, connection, provider)
    yield found
    found.machine.database.close()
    provider.close()
