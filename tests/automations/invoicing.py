"""The side of the shop: invoices in its table, clicks at the intake, and functions in processes of their own."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from tidemill import app
from tidemill.app import App
from tidemill.wire import Connection

from local.mail import MailProvider
from tests.conftest import ROOT

LIBRARY = [str(ROOT / "layers/tidemill/python"), str(ROOT / "layers/automations/python"), str(ROOT)]
HANDLE = "import json, app; print(json.dumps({'answer': app.handler({}, None)}))"
SECRET = "site-test-secret"


class Shop:
    """A database with invoices, a mail provider, and the machine between them."""

    def __init__(self, database_url: str, connection: Connection, provider: MailProvider) -> None:
        self.connection = connection
        self.provider = provider
        self.environ = {
            "DATABASE_URL": database_url,
            "SITE_WEBHOOK_SECRET": SECRET,
            "MAIL_API": provider.url,
            "MAIL_API_KEY": "mail-test-key",
            "DRAIN_LINGER": "0",
        }
        self.machine: App = app.load(self.environ)

    def invoice(self, number: str, due: int = 14, **columns: Any) -> None:
        """An invoice that is due in so many days of UTC; `columns` go before what is usual."""
        values = {
            "number": number,
            "customer": "Ada",
            "email": "ada@example.com",
            "amount": 120,
            "status": "open",
            **columns,
        }
        names = ", ".join(values)
        places = ", ".join(f"%({name})s" for name in values)
        self.connection.execute(
            f"insert into invoices (due_on, {names})"  # type: ignore[arg-type]
            f" values ((now() at time zone 'UTC')::date + %(due)s::int, {places})",
            {**values, "due": due},
        )

    def click(self, number: object, correlation_id: str = "", machine: App | None = None) -> dict[str, Any]:
        """The answer to a click on "Send invoice"."""
        return self.post({"type": "invoice.send", "invoice": number}, correlation_id, machine)

    def post(self, message: object, correlation_id: str = "", machine: App | None = None) -> dict[str, Any]:
        body = json.dumps(message)
        headers = {"x-signature": hmac.new(SECRET.encode(), body.encode(), hashlib.sha256).hexdigest()}
        if correlation_id:
            headers["x-correlation-id"] = correlation_id
        event = {
            "version": "2.0",
            "rawPath": "/hooks/site",
            "headers": headers,
            "requestContext": {"http": {"method": "POST", "path": "/hooks/site", "sourceIp": "203.0.113.7"}},
            "body": body,
            "isBase64Encoded": False,
        }
        return dict((machine or self.machine).intake.handle(event, None))

    def poll(self, answer: Mapping[str, Any]) -> Any:
        """What stands at the status address of an answer."""
        path = {name.lower(): value for name, value in answer["headers"].items()}["location"]
        event = {"version": "2.0", "rawPath": path, "requestContext": {"http": {"method": "GET", "path": path}}}
        return json.loads(self.machine.intake.handle(event, None)["body"])

    def start(self, function: str) -> subprocess.Popen[str]:
        """Invoke functions/<function> in a process of its own."""
        return self.spawn([sys.executable, "-c", HANDLE], str(ROOT / "functions" / function))

    def spawn(self, command: list[str], *paths: str) -> subprocess.Popen[str]:
        environ = {**os.environ, **self.environ, "PYTHONPATH": os.pathsep.join([*paths, *LIBRARY])}
        return subprocess.Popen(command, env=environ, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    def run(self, function: str, at_once: int = 1) -> list[str]:
        """Invoke a function in so many processes at once, to their end; the lines that they wrote."""
        running = [self.start(function) for _ in range(at_once)]
        written = [one.communicate(timeout=60)[0] for one in running]
        assert [one.returncode for one in running] == [0] * at_once, written
        return [line for text in written for line in text.splitlines()]

    def drain(self) -> None:
        """Work off what is due, in this process."""
        self.machine.drain.handle({}, None)

    def let_time_pass(self) -> None:
        """Leases of the dead run out, the schedule function sees it, and what waits is due."""
        self.connection.execute("update jobs set locked_until = now() - interval '1 second' where status = 'running'")
        self.connection.execute("update places set locked_until = now() - interval '1 second' where holder is not null")
        assert self.machine.tick.run({}, None)["failed"] == []
        self.connection.execute("update jobs set run_at = now() - interval '1 second' where status = 'pending'")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()  # type: ignore[arg-type]

    def sent(self) -> list[str]:
        """The subjects of the mails that were delivered, in the order of the alphabet."""
        return sorted(mail.subject for mail in self.provider.mails)
