"""The canary sings: a secret that is planted is found, wherever and in whichever form."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from psycopg.types.json import Jsonb
from tidemill.wire import Connection

from tests.canary.search import found_in, leaks, secrets_of
from tests.conftest import ROOT

SECRET = 'planted/"secret" +é\\1'

FORMS: list[Callable[[str], str]] = [
    str,
    quote,
    quote_plus,
    lambda text: quote(text, safe=""),
    lambda text: quote(text, safe="").lower(),
    lambda text: base64.b64encode(text.encode()).decode(),
    lambda text: base64.b64encode(f"a{text}z".encode()).decode(),
    lambda text: base64.urlsafe_b64encode(f"ab{text}".encode()).decode(),
    lambda text: text.encode().hex(),
    json.dumps,
    lambda text: json.dumps(json.dumps(text)),
]


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_found_in_a_text_in_every_form(form: Callable[[str], str]) -> None:
    assert [*found_in(f"before {form(SECRET)} after", {SECRET})]


def test_what_is_found_is_told_without_the_secret() -> None:
    [place] = found_in(f"before {SECRET} after", {SECRET})
    assert place == "before <pla...> after"


def test_a_text_without_the_secret_has_none() -> None:
    assert not [*found_in(f"{SECRET[:-1]} {SECRET[1:]} {SECRET.upper()}", {SECRET})]


def put(connection: Connection, table: str, **columns: object) -> None:
    names = ", ".join(columns)
    connection.execute(f"insert into {table} ({names}) values ({', '.join(['%s'] * len(columns))})", [*columns.values()])  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("jobs", {"kind": "work", "last_error": f"no {SECRET}"}),
        ("jobs", {"kind": "work", "payload": Jsonb({"text": SECRET})}),
        ("jobs", {"kind": "work", "payload": Jsonb({SECRET: 1})}),
        ("events", {"source": "shop", "body": SECRET.encode()}),
        ("events", {"source": "shop", "body": b"", "headers": Jsonb({"x": base64.b64encode(SECRET.encode()).decode()})}),
        ("operations", {"by": SECRET, "command": "retry"}),
        ("outbox", {"topic": "news", "payload": Jsonb(quote(SECRET))}),
        ("troubles", {"name": "a", "detail": SECRET}),
    ],
)
def test_a_secret_is_found_in_any_column(
    database_url: str, connection: Connection, table: str, columns: dict[str, object]
) -> None:
    put(connection, table, **columns)
    assert [place.partition(":")[0] for place in leaks(database_url, {SECRET}, {})] == [table]
    assert leaks(database_url, {"another secret"}, {}) == []


def test_a_column_that_is_left_out_is_not_looked_at(database_url: str, connection: Connection) -> None:
    put(connection, "events", source="shop", body=SECRET.encode())
    put(connection, "events", source="shop", body=b"", headers=Jsonb({"x": SECRET}))
    assert len(leaks(database_url, {SECRET}, {"events": "body"})) == 1


def test_which_settings_are_secret() -> None:
    settings = {
        "SHOP_WEBHOOK_SECRET": "first-one, second-one",
        "MAIL_API_KEY": "mail-key-1",
        "SETTINGS_SECRET_ARN": "arn:aws:1",
        "DATABASE_URL": "postgresql://u:data%2Fbase@h/d",
        "BROKEN_URL": "http://[::1",
        "SHORT_TOKEN": "dev",
        "PUBLIC_URL": "https://example.org",
    }
    assert secrets_of(settings) == {"first-one", "second-one", "mail-key-1", "data%2Fbase", "data/base"}


def test_a_test_that_leaks_fails_and_one_that_does_not_passes() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/canary/planted.py", "-rA", "-p", "no:xdist"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = re.findall(r"^(PASSED|FAILED|ERROR) \S+::(\w+)", ended.stdout, re.MULTILINE)
    assert {name for outcome, name in found if outcome == "ERROR"} == {
        "test_that_logs_a_secret",
        "test_that_logs_a_password_of_an_address",
        "test_that_stores_a_secret",
    }
    assert ("PASSED", "test_that_leaks_nothing") in found
    assert "planted/secret" not in "".join(line for line in ended.stdout.splitlines() if line.startswith("E "))
