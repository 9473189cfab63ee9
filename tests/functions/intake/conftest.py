"""functions/intake as Lambda calls it: events of both payload formats in, answers out."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import psycopg
import pytest
from tidemill import app
from tidemill.wire import Connection, Row

from functions.intake.app import handler
from local.postgres import Postgres
from tests.functions.intake.sources import SECRETS

Event = dict[str, Any]
MakeEvent = Callable[..., Event]


class Answer(NamedTuple):
    status: int
    body: Any
    headers: dict[str, str]


Call = Callable[[object], Answer]


def sign(body: bytes, secret: str = SECRETS["SHOP_WEBHOOK_SECRET"]) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def v2(path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None, method: str = "POST") -> Event:
    """Payload format 2.0, the body in base64."""
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {name.lower(): value for name, value in (headers or {}).items()},
        "requestContext": {"stage": "$default", "http": {"method": method, "path": path, "sourceIp": "192.0.2.1"}},
        **_body(body),
    }


def v1(path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None, method: str = "POST") -> Event:
    """Payload format 1.0, the body in base64."""
    return {
        "path": path,
        "httpMethod": method,
        "headers": dict(headers or {}),
        "multiValueHeaders": {name: [value] for name, value in (headers or {}).items()},
        "queryStringParameters": None,
        "requestContext": {"stage": "prod", "identity": {"sourceIp": "192.0.2.1"}},
        **_body(body),
    }


def _body(body: bytes | None) -> Event:
    encoded = None if body is None else base64.b64encode(body).decode()
    return {"body": encoded, "isBase64Encoded": body is not None}


def delivery(
    body: bytes | object, key: str | None = None, source: str = "shop", make: MakeEvent = v2, **headers: str
) -> Event:
    """A signed POST; a body that is not bytes is sent as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    keyed = {} if key is None else {"X-Shop-Delivery": key}
    return make(f"/hooks/{source}", data, {"X-Shop-Signature": sign(data), **keyed, **named})


def rows(connection: Connection, what: str, table: str) -> list[Row]:
    return connection.execute(f"select {what} from {table} order by id").fetchall()  # type: ignore[arg-type]


def written_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def metrics(text: str) -> list[tuple[str, str]]:
    """(metric, source) of each embedded metric in what was written."""
    directives = [(line["_aws"]["CloudWatchMetrics"][0], line["source"]) for line in written_lines(text) if "_aws" in line]
    return [(metric["Name"], source) for directive, source in directives for metric in directive["Metrics"]]


def log_line(text: str, outcome: str) -> dict[str, Any]:
    """The one line of that outcome."""
    (line,) = [line for line in written_lines(text) if line.get("outcome") == outcome]
    return line


@pytest.fixture(scope="session")
def one_database(postgres: Postgres) -> Iterator[str]:
    name = f"intake_{os.getpid()}"
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"create database {name} template template_tidemill strategy file_copy")
    yield postgres.url(name)
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)")


@pytest.fixture
def database_url(one_database: str) -> str:
    """One database for all of these tests, emptied before each: they are many, and each leaves only rows."""
    with psycopg.connect(one_database, autocommit=True) as connection:
        connection.execute("delete from jobs")
        connection.execute("delete from events")
        connection.execute("delete from rejections")
    return one_database


@pytest.fixture(params=[v1, v2], ids=["format-1.0", "format-2.0"])
def make(request: pytest.FixtureRequest) -> MakeEvent:
    """Makes events of the one payload format, and then of the other."""
    maker: MakeEvent = request.param
    return maker


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, database_url: str) -> pytest.MonkeyPatch:
    """Of a container that has just been started."""
    monkeypatch.setattr(app, "_current", None)
    for name, value in {"DATABASE_URL": database_url, "AUTOMATIONS": "tests.functions.intake.sources", **SECRETS}.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.fixture
def call(environment: pytest.MonkeyPatch) -> Call:
    """Invokes functions/intake."""

    def invoke(event: object) -> Answer:
        answer = json.loads(json.dumps(handler(event, None)))
        text = answer["body"]
        is_json = answer["headers"]["content-type"] == "application/json"
        return Answer(answer["statusCode"], json.loads(text) if is_json else text, answer["headers"])

    return invoke
