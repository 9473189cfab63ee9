"""Each payload of events/ is one that its function understands."""

from __future__ import annotations

import json

import pytest
from tidemill import custom_resource
from tidemill.app import App
from tidemill.wire import Connection

from tests.automations.conftest import EVENTS, sample

COMMANDS = sorted(path.stem for path in EVENTS.glob("replay-*.json"))


def test_every_payload_is_explained() -> None:
    explained = (EVENTS / "README.md").read_text("utf-8")
    for path in EVENTS.glob("*.json"):
        assert f"`{path.name}`" in explained or path.stem in COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_an_operators_command_is_a_valid_one(machine: App, name: str) -> None:
    answer = machine.operator.run(sample(name))
    assert answer["ok"] is True or answer["error"]["code"] == "not_found"


def test_the_commands_find_what_they_name(machine: App) -> None:
    machine.intake.handle(sample("intake-http-api"), None)
    assert machine.operator.run({**sample("replay-show"), "event": 1})["ok"] is True
    assert machine.operator.run({**sample("replay-replay"), "event": 1})["jobs"][0]["outcome"] == "kept"


@pytest.mark.parametrize("name", ["drain", "schedule"])
def test_what_is_in_a_wake_up_makes_no_difference(machine: App, name: str) -> None:
    machine.intake.handle(sample("intake-http-api"), None)
    assert machine.drain.handle(sample(name), None)["done"] == 1
    assert isinstance(machine.tick.run(sample(name), None), dict)


def test_a_job_that_comes_back_from_a_queue_is_run(machine: App, connection: Connection) -> None:
    machine.intake.handle(sample("intake-http-api"), None)
    connection.execute("update jobs set sent_at = now()")
    assert machine.consume.handle(sample("consume"), None) == {"batchItemFailures": []}
    assert connection.execute("select status from jobs").fetchall() == [("done",)]
    assert machine.relay.handle(sample("schedule"), None)["ok"] is True


def test_a_parked_form_is_stored_once(machine: App, connection: Connection) -> None:
    for _ in range(2):
        assert machine.absorb.handle(sample("absorb"), None) == {"batchItemFailures": []}
    stored = "select dedup_key, correlation_id, received_at::text from events"
    assert connection.execute(stored).fetchall() == [("form-0002", "c-2", "2027-04-30 06:00:00.25+00")]
    assert connection.execute("select kind from jobs").fetchall() == [("site.form",)]


def test_cloudformation_is_answered_where_it_asked(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("SQL_FOLDER", str(EVENTS.parent / "sql"))
    sent: list[tuple[str, bytes]] = []
    event = sample("migrate")
    custom_resource.handle(event, None, lambda url, body: sent.append((url, body)))
    ((url, body),) = sent
    assert url == event["ResponseURL"]
    answer = json.loads(body)
    assert (answer["Status"], answer["RequestId"]) == ("SUCCESS", event["RequestId"])
