"""functions/console: what its buttons do, and what nobody can make it do."""

from __future__ import annotations

import pytest
from tidemill.wire import Connection

from tests.functions.widget import press, shown
from tests.queue.operating import add_event, add_job, operations, status_of


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, database_url: str) -> pytest.MonkeyPatch:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("AUTOMATIONS", "tests.functions.operated")
    monkeypatch.setenv("SHOP_WEBHOOK_SECRET", "hush-hush-hush")
    return monkeypatch


def failed(connection: Connection, **columns: object) -> int:
    return add_job(connection, "order.announce", "failed", **columns)


def test_retry_asks_first_and_stays_where_it_was_pressed(environment: object, connection: Connection) -> None:
    job = failed(connection, error_class="KeyError")
    button = shown(view="failed", error_class="KeyError").button("Retry")
    assert button.confirmation == f"Retry job {job} (order.announce)? It gets a fresh budget of attempts."
    page = press(button)
    assert f"job {job} is back in its line." in page.text
    assert "No failed job matches this." in page.text
    assert status_of(connection, job) == "pending"
    assert operations(connection)[0][:2] == ("console", "retry")


def test_a_second_click_is_a_conflict_and_the_view_is_shown_all_the_same(
    environment: object, connection: Connection
) -> None:
    job = failed(connection)
    button = shown(view="job", job=job).button("Retry")
    press(button)
    page = press(button)
    assert f"job {job} waits already" in page.text and f"Job {job}" in page.text
    assert len(operations(connection)) == 1


def test_cancel_gives_a_job_up(environment: object, connection: Connection) -> None:
    job = failed(connection)
    page = press(shown(view="job", job=job).button("Cancel"))
    assert status_of(connection, job) == "discarded"
    assert f"job {job} was given up." in page.text and "cancelled by console" in page.text


def test_a_job_that_is_done_is_done_again_only_after_a_warning(environment: object, connection: Connection) -> None:
    job = add_job(connection, "order.announce", "done")
    button = shown(view="job", job=job).button("Do it again")
    assert button.confirmation is not None and "Its effects may happen twice." in button.confirmation
    assert f" does job {job} again." in press(button).text


def test_many_are_counted_before_they_are_retried(environment: object, connection: Connection) -> None:
    jobs = [failed(connection, error_class="KeyError") for _ in range(3)]
    add_job(connection, "nobody.knows", "failed", error_class="KeyError")
    plan = press(shown(view="failed", error_class="KeyError").button("Retry all that match \u2026"))
    assert "3 failed jobs would be retried. Nothing has been changed yet." in plan.text
    assert "no handler for kind 'nobody.knows'" in plan.text
    assert {status_of(connection, job) for job in jobs} == {"failed"}
    page = press(plan.button("Retry 3 failed jobs"))
    assert "3 of 4 failed jobs are back in their lines." in page.text
    assert "Refused: no handler for kind 'nobody.knows' (1)." in page.text
    assert {status_of(connection, job) for job in jobs} == {"pending"}


def test_without_a_filter_there_is_no_button_for_all(environment: object, connection: Connection) -> None:
    failed(connection)
    page = shown(view="failed")
    assert "Filter, to retry many at once." in page.text
    assert not [one for one in page.buttons if one.label.startswith("Retry all")]


@pytest.mark.parametrize("of", [None, 5, {}, {"command": "cancel", "job": 1}, {"command": ["retry"]}])
def test_a_plan_is_of_a_retry_or_a_replay(environment: object, of: object) -> None:
    assert "of must be the retry or the replay of many" in shown(view="plan", of=of).text


def test_a_plan_changes_nothing_whatever_it_is_of(environment: object, connection: Connection) -> None:
    job = failed(connection)
    page = shown(view="plan", of={"command": "retry", "job": job, "dry_run": False})
    assert "of must be the retry or the replay of many, not of one" in page.text
    assert status_of(connection, job) == "failed"


def test_an_event_is_replayed(environment: object, connection: Connection) -> None:
    event = add_event(connection, body=b'{"number": 17}', route_error="KeyError")
    page = press(shown(view="event", event=event).button("Replay"))
    assert f"event {event} was routed again: job 1 (order.announce) created." in page.text
    assert operations(connection)[0][:3] == ("console", "replay", {"event": event})


def test_a_workflow_is_restarted_from_a_step(environment: object, connection: Connection) -> None:
    job = failed(connection)
    connection.execute(
        "insert into job_steps (job_id, position, name, kind, result) values (%s, 1, 'charge', 'step', '1')", [job]
    )
    page = press(shown(view="job", job=job).button("Restart here"))
    assert f"job {job} runs again from the step charge." in page.text


def test_a_limit_is_paused_for_a_while_for_good_and_resumed(environment: object, connection: Connection) -> None:
    connection.execute("insert into limits (name, size) values ('telegram', 5)")
    page = press(shown().button("Pause 10 min"))
    assert "The limit telegram is paused; it ends in 9 min" in page.text or "it ends in 10 min" in page.text
    page = press(page.button("Resume"))
    assert "Jobs under the limit telegram start again." in page.text
    page = press(page.button("Pause"))
    assert "Nothing starts under the limit telegram until it is resumed." in page.text
    assert "until it is resumed" in page.text
    assert [command for _, command, *_ in operations(connection)] == ["pause", "resume", "pause"]


def test_what_was_done_by_hand_is_listed_with_who_did_it(environment: object, connection: Connection) -> None:
    job = failed(connection)
    shown({"view": "job", "job": job, "do": {"command": "retry", "job": job}, "by": "ann"})
    text = shown(view="operations").text
    assert "ann" in text and "retry" in text and "redriven" in text


def test_a_widget_can_say_whose_it_is(environment: object, connection: Connection) -> None:
    job = failed(connection)
    shown({"do": {"command": "cancel", "job": job}, "widgetContext": {"params": {"by": "shop team"}}})
    assert operations(connection)[0][:2] == ("shop team", "cancel")


def test_what_a_widget_is_configured_with_changes_nothing(environment: object, connection: Connection) -> None:
    """It comes again whenever the dashboard is opened or refreshed."""
    job = failed(connection)
    do = {"command": "cancel", "job": job}
    shown({"do": do, "widgetContext": {"params": {"do": do}}})
    assert status_of(connection, job) == "failed"


@pytest.mark.parametrize("do", [5, {}, {"command": "stats"}, {"command": ["retry"]}, {"command": "drop"}])
def test_a_button_does_only_what_the_page_has_buttons_for(environment: object, do: object) -> None:
    assert "do must be one of the commands retry, replay, cancel, restart, pause, resume" in shown(do=do).text
