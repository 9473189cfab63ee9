from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from automations.site import site
from tidemill import gateway
from tidemill.app import App
from tidemill.model import Accepted, Event, NewJob
from tidemill.source import route
from tidemill.wire import Connection

from tests.automations.conftest import SECRETS, sample


def routed(body: bytes) -> tuple[list[NewJob], str | None]:
    return route(site, Event(1, "site", {}, body, datetime.now(UTC)), {})


@pytest.mark.parametrize("name", ["intake-http-api", "intake-rest-api"])
def test_the_sample_deliveries_are_genuine(name: str) -> None:
    verdict = site.check(gateway.request_of(sample(name)), SECRETS, 0)
    assert verdict == Accepted({"intake-http-api": "form-0001", "intake-rest-api": "form-0002"}[name])


@pytest.mark.parametrize(
    "form", [{"type": "form", "name": "Ada"}, {"type": "newsletter"}, {"name": "Ada"}, {"type": None}, {}]
)
def test_a_json_object_is_a_form(form: dict[str, Any]) -> None:
    assert routed(json.dumps(form).encode()) == ([NewJob("site.form", form)], None)


@pytest.mark.parametrize(("body", "word"), [(b"[]", "list"), (b"null", "NoneType"), (b'"form"', "str"), (b"7", "int")])
def test_what_is_no_object_is_no_form(body: bytes, word: str) -> None:
    assert routed(body) == ([], f"ValueError: a form must be a JSON object, not {word}")


@pytest.mark.parametrize("body", [b"", b"name=Ada", b"\xff", b"{"])
def test_what_is_no_json_makes_no_job_and_says_why(body: bytes) -> None:
    jobs, error = routed(body)
    assert jobs == [] and error


def test_a_signed_form_ends_in_the_log(machine: App, connection: Connection, capsys: pytest.CaptureFixture[str]) -> None:
    answer = machine.intake.handle(sample("intake-http-api"), None)
    assert (answer["statusCode"], json.loads(answer["body"])["jobs"]) == (202, 1)
    assert machine.drain.handle({}, None)["done"] == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (form,) = [line for line in lines if line.get("message") == "form"]
    assert form["form"] == {
        "type": "form", "name": "Ada", "email": "ada@example.com", "message": "Is the mill open on Sunday?"
    }  # fmt: skip
    ((correlation_id,),) = connection.execute("select correlation_id from jobs").fetchall()
    assert form["correlation_id"] == correlation_id != ""


def test_the_same_form_is_taken_once_and_another_delivery_of_it_again(machine: App, connection: Connection) -> None:
    names = ["intake-http-api", "intake-http-api", "intake-rest-api"]
    bodies = [json.loads(machine.intake.handle(sample(name), None)["body"]) for name in names]
    assert [body.get("duplicate", False) for body in bodies] == [False, True, False]
    assert connection.execute("select count(*) from jobs").fetchall() == [(2,)]


def test_a_forged_form_is_refused(machine: App, connection: Connection) -> None:
    event = sample("intake-http-api")
    event["body"] = event["body"].replace("Ada", "Eve")
    assert machine.intake.handle(event, None)["statusCode"] == 401
    assert connection.execute("select count(*) from events").fetchall() == [(0,)]
