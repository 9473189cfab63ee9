"""Who wakes the relay: a drain or a consumer that has published; and the functions as Lambda calls them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from tidemill.app import App
from tidemill.drain import DrainFunction
from tidemill.errors import ConfigurationError
from tidemill.handlers import Handler
from tidemill.settings import Settings
from tidemill.wire import Connection

from tests.conftest import ROOT
from tests.functions.consuming import event, put_out, reported
from tests.queue.conftest import put


@pytest.fixture
def app(database_url: str) -> Iterator[App]:
    settings = Settings({"DATABASE_URL": database_url, "RELAY_FUNCTION": "relay", "DRAIN_LINGER": "0"})
    tell = Handler("tell", lambda job, ctx: ctx.publish("t", 1))
    told = Handler("told", lambda job, ctx: ctx.publish("t", 1), via="sqs")
    app = App(settings, [tell, told, Handler("work", lambda job, ctx: None)])
    yield app
    app.database.close()


def woken(drain: DrainFunction) -> list[str]:
    """Note the wakes of a drain."""
    calls: list[str] = []
    drain._wake_relay = lambda: calls.append("relay")
    return calls


@pytest.mark.parametrize(("kind", "calls"), [("tell", 1), ("told", 1), ("work", 0)])
def test_a_drain_wakes_the_relay_once_where_something_was_published(
    app: App, connection: Connection, kind: str, calls: int
) -> None:
    put(connection, 5, kind=kind)
    noted = woken(app.drain)
    app.drain.handle(None, None)
    app.drain.handle(None, None)
    assert len(noted) == calls


def test_a_consumer_that_published_wakes_it_too_and_is_no_drain(app: App, connection: Connection) -> None:
    [job] = put_out(connection, kind="told")
    noted = woken(app.consume._drain)
    assert reported(app.consume.handle(event(job), None)) == []
    assert noted == ["relay"]
    assert connection.execute("select name from pulses").fetchall() == [("consume",)]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tests.{name}_app", ROOT / "functions" / name / "app.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "given", "answer"),
    [
        ("relay", {"anything": 1}, {"ok": True, "sent": 0, "retried": 0, "failed": 1}),
        ("consume", event("nothing"), {"batchItemFailures": [{"itemIdentifier": "m0"}]}),
    ],
)
def test_the_function_answers_as_lambda_calls_it(
    database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch, name: str, given: Any, answer: Any
) -> None:
    connection.execute("insert into outbox (topic) values ('nowhere')")
    monkeypatch.setenv("DATABASE_URL", database_url)
    assert load(name).handler(given, None) == answer


def test_a_target_that_is_none_stops_the_start(database_url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"OUTBOX_TARGETS.*'orders'"):
        App(Settings({"DATABASE_URL": database_url, "OUTBOX_TARGETS": '{"orders": "my-queue"}'}))
