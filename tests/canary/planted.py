"""Tests that leak, each in its own way, and one that does not: test_watching.py runs them, to see that they are caught."""

from __future__ import annotations

from urllib.parse import quote

from tidemill import telemetry
from tidemill.settings import Settings
from tidemill.telemetry import Log
from tidemill.wire import Connection

SECRET = "planted/secret+1"


def test_that_logs_a_secret() -> None:
    Settings({"PLANTED_SECRET": SECRET})
    Log().info("said", what=f"it is {SECRET}")


def test_that_logs_a_password_of_an_address() -> None:
    Settings({"SOME_URL": f"https://user:{quote(SECRET, safe='')}@host/"})
    telemetry.write_lines([SECRET.encode().hex()])


def test_that_stores_a_secret(connection: Connection) -> None:
    Settings({"PLANTED_API_KEY": SECRET})
    connection.execute("insert into jobs (kind, last_error) values ('work', %s)", (SECRET,))


def test_that_leaks_nothing(connection: Connection) -> None:
    settings = Settings({"PLANTED_SECRET": SECRET})
    Log(settings.redact).info("said", what=f"it is {SECRET}")
    connection.execute("insert into events (source, body) values ('shop', %s)", (SECRET.encode(),))
