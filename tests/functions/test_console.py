"""functions/console, as a CloudWatch dashboard calls it: what its views show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tidemill import console
from tidemill.wire import Connection

from functions.console.app import handler
from tests.functions.widget import CONTEXT, Shown, press, shown
from tests.queue.operating import add_event, add_job

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "events").glob("console*.json"))


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, database_url: str) -> pytest.MonkeyPatch:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("AUTOMATIONS", "tests.functions.operated")
    monkeypatch.setenv("SHOP_WEBHOOK_SECRET", "hush-hush-hush")
    return monkeypatch


def failed(connection: Connection, **columns: Any) -> int:
    return add_job(connection, "order.announce", "failed", **columns)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_each_example_is_answered(environment: object, example: Path) -> None:
    event = json.loads(example.read_text("utf-8"))
    answer = handler(event, CONTEXT)
    if event.get("describe"):
        assert isinstance(answer, dict) and answer["markdown"].startswith("## Tidemill")
    else:
        assert isinstance(answer, str) and "tidemill" in answer
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize("event", [None, [], "x", 5, {"widgetContext": 5}, {"widgetContext": {"forms": [], "params": "x"}}])
def test_whatever_comes_the_overview_is_shown(environment: object, event: object) -> None:
    """B75"""
    assert "All is well" in Shown(str(handler(event, CONTEXT))).text


def test_an_empty_house_says_that_all_is_well_everywhere(environment: object) -> None:
    assert "All is well: nothing has failed, and no work is late." in shown().text
    assert "No job has failed for good." in shown(view="failed").text
    assert "Nobody has changed anything by hand." in shown(view="operations").text
    assert "Nothing was refused at the door." in shown(view="rejected").text


def test_the_overview_says_what_is_wrong_and_leads_there(environment: object, connection: Connection) -> None:
    failed(connection)
    failed(connection)
    add_event(connection, body=b'{"number": 17}', route_error="KeyError: 'order'")
    connection.execute("insert into jobs (kind, run_at) values ('order.announce', now() - interval '20 min')")
    page = shown()
    said = "2 jobs have failed for good. A job has been ready for 20 min. 1 event was stored without jobs."
    assert said in page.text
    assert page.button("look at them").event == {"view": "failed"}
    assert page.button("2").event == {"view": "failed", "kind": "order.announce"}
    plan = press(page.button("replay them"))
    assert "1 event would be routed again." in plan.text
    assert "1 of 1 events brought jobs into their lines." in press(plan.button("Replay 1 event")).text


def test_failed_jobs_are_shown_with_their_errors_the_latest_first(environment: object, connection: Connection) -> None:
    first = failed(connection, finished_at="2027-04-01T00:00:00Z", error_class="KeyError", last_error="'number'")
    second = failed(connection, finished_at="2027-04-02T00:00:00Z", last_error="line one\nline two")
    page = shown(view="failed")
    assert [one.event["job"] for one in page.buttons if one.event.get("view") == "job"] == [second, first]
    assert "KeyError" in page.text and "'number'" in page.text and "line two" in page.text


def test_the_filters_that_were_typed_go_to_the_operator(environment: object, connection: Connection) -> None:
    wanted = failed(connection, error_class="KeyError")
    failed(connection, error_class="ValueError")
    page = press(shown(view="failed").button("Filter"), kind="order.announce", error_class=" KeyError ", since="", text="9")
    assert [one.event["job"] for one in page.buttons if one.event.get("view") == "job"] == [wanted]
    assert page.button("Refresh").event["error_class"] == "KeyError"
    assert (
        "input",
        "type=text",
        "autocomplete=off",
        "spellcheck=false",
        "name=error_class",
        "value",
        "placeholder=any",
    ) in page.structure


def test_a_bad_filter_is_named(environment: object) -> None:
    page = shown(view="failed", since="soon")
    assert "since must be an instant in ISO 8601 with an offset" in page.text


def test_pages_go_forth_and_back(environment: object, connection: Connection) -> None:
    jobs = [failed(connection, finished_at=f"2027-04-01T00:{minute:02}:00Z") for minute in range(45)][::-1]
    page, seen = shown(view="failed"), []
    while True:
        seen += [one.event["job"] for one in page.buttons if one.event.get("view") == "job"]
        if not [one for one in page.buttons if one.label == "Older"]:
            break
        page = press(page.button("Older"))
    assert seen == jobs
    page = press(press(page.button("Newer")).button("Newer"))
    assert jobs[0] in [one.event.get("job") for one in page.buttons]
    assert not [one for one in page.buttons if one.label == "Newer"]


def test_an_events_whole_story_is_told(environment: object, connection: Connection) -> None:
    event = add_event(connection, body=b'{"number": 17}', headers='{"x-shop-delivery": "d-17"}', dedup_key="d-17")
    job = failed(connection, event_id=event, key="17")
    other = add_job(connection, "order.announce", "pending", event_id=event)
    for attempt, error in enumerate(("first fault", "second fault"), 1):
        connection.execute(
            "insert into job_errors (job_id, attempt, worker, error_class, error) values (%s, %s, 'w1', 'ValueError', %s)",
            [job, attempt, error],
        )
    connection.execute(
        "insert into job_steps (job_id, position, name, kind, result, wake_at) values"
        " (%(job)s, 1, 'charge', 'step', '{}', null), (%(job)s, 2, 'a day', 'sleep', null, now() + interval '30 min')",
        {"job": other},
    )
    text = shown(view="event", event=event).text
    for part in ("d-17", '"number": 17', "first fault", "second fault", "charge", "a day", "until at most in 29 min"):
        assert part in text, part
    assert text.index("second fault") < text.index("first fault")


def test_a_jobs_whole_story_is_told(environment: object, connection: Connection) -> None:
    event = add_event(connection)
    job = failed(connection, event_id=event, payload={"number": 17}, result={"mail": "m-1"}, key="17")
    sibling = add_job(connection, "order.announce", "done", event_id=event)
    connection.execute(
        "insert into job_errors (job_id, attempt, error_class, error, log_stream, request_id)"
        " values (%s, 1, 'ValueError', 'no number', 'stream/1', 'request-1')",
        [job],
    )
    page = shown(view="job", job=job)
    for part in ("order.announce", '"number": 17', '"mail": "m-1"', "no number", "stream/1", "request-1", "8"):
        assert part in page.text, part
    assert page.button(f"job {sibling}") and page.button(f"event {event}")


def test_schedules_are_shown_with_their_slots(environment: object, connection: Connection) -> None:
    connection.execute(
        "insert into schedules (name, kind, rule, last_slot, last_error) values"
        " ('digest', 'order.total', 'daily 09:00', now() - interval '5 h', 'no handler')"
    )
    text = shown().text
    assert "digest" in text and "daily 09:00" in text and "5 h ago" in text and "no handler" in text


@pytest.mark.parametrize("text", ["{job}", "shop-17"])
def test_jobs_and_events_are_found_by_id_and_by_correlation_id(
    environment: object, connection: Connection, text: str
) -> None:
    event = add_event(connection, correlation_id="shop-17")
    job = failed(connection, correlation_id="shop-17", event_id=event)
    page = press(shown().button("Search"), text=text.format(job=job))
    assert page.button(f"job {job}") and [one for one in page.buttons if one.label == f"event {event}"]


@pytest.mark.parametrize("fields", [{"view": "nothing"}, {"view": ["job"]}, {"view": "job", "job": "x"}, {"view": "job"}])
def test_a_view_that_cannot_be_shown_says_why(environment: object, fields: dict[str, Any]) -> None:
    """B75"""
    text = shown(**fields).text
    assert "must be one of overview" in text or "job must be" in text or "give one of job and event" in text


def test_each_view_can_be_shown(environment: object) -> None:
    for view in console.VIEWS:
        assert "as of " in shown(view=view).text


@pytest.mark.parametrize(("theme", "look"), [("light", "light"), ("dark", "dark"), ("neon", "auto"), (None, "auto")])
def test_the_dashboards_theme_is_taken(environment: object, theme: object, look: str) -> None:
    structure = shown({"widgetContext": {"theme": theme}}).structure
    assert ("div", f"class=tidemill cwdb-no-default-styles {look}") in structure


def test_a_database_that_is_away_is_said_on_the_page(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.setenv("DATABASE_URL", "postgresql://nobody:hush-hush@127.0.0.1:1/none")
    page = shown()
    assert "The database does not answer." in page.text
    assert page.button("Refresh") and "hush" not in page.text + capsys.readouterr().out


def test_a_secret_in_a_payload_does_not_reach_the_page(environment: object, connection: Connection) -> None:
    job = failed(connection, payload={"token": "hush-hush-hush"})
    assert "hush" not in shown(view="job", job=job).text


def test_what_is_too_long_to_read_is_cut_and_says_so(environment: object, connection: Connection) -> None:
    """B55"""
    job = failed(connection, payload={"text": "x" * 200_000}, last_error="e" * 4000)
    page = handler({"view": "job", "job": job}, CONTEXT)
    assert len(page) < 80_000 and "The first 20,000 of 200,0" in Shown(str(page)).text
