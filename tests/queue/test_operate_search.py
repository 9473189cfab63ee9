"""search and operations, on a real database."""

from __future__ import annotations

import pytest
from tidemill.operate import search
from tidemill.wire import Connection, statement

from tests.queue.operating import add_event, add_job, operator


def test_a_number_finds_the_job_and_the_event_with_this_id(database_url: str, connection: Connection) -> None:
    event = add_event(connection)
    job = add_job(connection, event_id=event)
    assert job == event
    answer = operator(database_url).run({"command": "search", "text": str(job)})
    assert [one["id"] for one in answer["jobs"]] == [job] and [one["id"] for one in answer["events"]] == [event]
    assert answer["jobs"][0].keys() == {"id", "kind", "status", "event_id", "correlation_id", "created_at"}
    assert answer["events"][0].keys() == {"id", "source", "received_at", "route_error", "correlation_id"}
    assert answer["among"] is None


def test_a_correlation_id_finds_all_that_carry_it_the_latest_first(database_url: str, connection: Connection) -> None:
    event = add_event(connection, correlation_id="7")
    jobs = [add_job(connection, correlation_id="7") for _ in range(8)]
    add_job(connection, correlation_id="another")
    answer = operator(database_url).run({"command": "search", "text": "7"})
    assert [one["id"] for one in answer["jobs"]] == jobs[::-1]  # job 7 is among them once, found by its id too
    assert [one["id"] for one in answer["events"]] == [event]


@pytest.mark.parametrize("text", ["nobody", "0", "9" * 19, "9" * 40, "\u0667", "-1", "' or true --"])
def test_what_nobody_has_finds_nothing(database_url: str, connection: Connection, text: str) -> None:
    """B75"""
    add_job(connection)
    answer = operator(database_url).run({"command": "search", "text": text})
    assert answer == {"ok": True, "jobs": [], "events": [], "among": None}


@pytest.mark.parametrize("command", [{}, {"text": 7}, {"text": ""}, {"text": None}])
def test_what_is_no_text_is_named(database_url: str, command: dict[str, object]) -> None:
    """B75"""
    error = operator(database_url).run({"command": "search", **command})["error"]
    assert (error["code"], error["field"]) == ("invalid", "text")


def test_a_correlation_id_is_looked_for_among_the_newest_and_an_id_among_all(
    database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "NEWEST", 5)
    old = add_job(connection, correlation_id="old")
    new = [add_job(connection, correlation_id="new") for _ in range(5)]
    run = operator(database_url).run
    assert run({"command": "search", "text": "old"}) == {"ok": True, "jobs": [], "events": [], "among": 5}
    assert [one["id"] for one in run({"command": "search", "text": "new"})["jobs"]] == new[::-1]
    assert [one["id"] for one in run({"command": "search", "text": str(old)})["jobs"]] == [old]


def test_a_search_reads_no_whole_table(connection: Connection) -> None:
    connection.execute(
        "insert into jobs (kind, status, finished_at) select 'a', 'done', now() from generate_series(1, 20000);"
        " insert into events (source, body) select 'shop', '' from generate_series(1, 20000)"
    )
    connection.execute("analyze")
    parameters = {"text": "7", "number": 7, "newest": 100, "most": 10}
    plan = connection.execute("explain " + statement("operate_search"), parameters).fetchall()  # type: ignore[call-overload]
    assert "Seq Scan" not in "\n".join(line for (line,) in plan)


def test_what_was_done_is_listed_the_latest_first_a_page_at_a_time(database_url: str, connection: Connection) -> None:
    run = operator(database_url).run
    for number in range(5):
        run({"command": "cancel", "job": add_job(connection), "by": f"person {number}"})
    first = run({"command": "operations", "limit": 2})
    second = run({"command": "operations", "limit": 2, "after": first["after"]})
    third = run({"command": "operations", "limit": 2, "after": second["after"]})
    told = [one["by"] for page in (first, second, third) for one in page["operations"]]
    assert told == [f"person {number}" for number in (4, 3, 2, 1, 0)]
    assert third["after"] is None
    assert first["operations"][0].keys() == {"id", "at", "by", "command", "arguments", "outcome"}


def test_the_refused_of_a_bulk_command_are_counted_and_not_listed(database_url: str, connection: Connection) -> None:
    for _ in range(3):
        add_job(connection, "nobody.knows", "failed")
    run = operator(database_url).run
    run({"command": "retry", "kind": "nobody.knows"})
    [one] = run({"command": "operations"})["operations"]
    assert one["outcome"] == {"matched": 3, "changed": 0, "refused": 3}


def test_a_cursor_that_was_edited_is_named(database_url: str) -> None:
    """B75"""
    error = operator(database_url).run({"command": "operations", "after": "%%"})["error"]
    assert (error["code"], error["field"]) == ("invalid", "after")
