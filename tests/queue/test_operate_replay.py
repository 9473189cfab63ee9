"""replay, on a real database: the stored bytes, routed by the code of today."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from typing import Any

import pytest
from tidemill import NewJob
from tidemill.db import connect
from tidemill.model import Accepted, Event
from tidemill.operate import replay
from tidemill.source import Source
from tidemill.wire import Connection

from tests.queue.operating import (
    SECRET,
    add_event,
    add_job,
    body,
    one,
    operations,
    operator,
    shop,
    status_of,
    wait_for_blocked,
)


def outcomes(answer: dict[str, Any]) -> list[tuple[int, str, str]]:
    return [(job["id"], job["kind"], job["outcome"]) for job in answer["jobs"]]


def test_an_event_that_could_not_be_routed_gets_its_jobs(database_url: str, connection: Connection) -> None:
    event = add_event(connection, body=body(17), route_error="KeyError: 'orders'", correlation_id="c-9")
    answer = operator(database_url, shop()).run({"command": "replay", "event": event, "by": "ann"})
    query = "select id, kind, payload, key, event_id, correlation_id, limit_name, status from jobs order by id"
    first, second = connection.execute(query).fetchall()
    assert first[1:] == ("order.announce", {"number": 17}, "17", event, "c-9", "telegram", "pending")
    assert second[1:] == ("order.total", {"of": 1}, None, event, "c-9", "", "pending")
    assert answer == {
        "ok": True,
        "event": event,
        "jobs": [
            {"id": first[0], "kind": "order.announce", "outcome": "created"},
            {"id": second[0], "kind": "order.total", "outcome": "created"},
        ],
    }
    assert one(connection, "select route_error from events") is None
    assert operations(connection) == [("ann", "replay", {"event": event}, {"jobs": answer["jobs"]})]


def test_each_job_of_an_event_is_brought_up_to_today(database_url: str, connection: Connection) -> None:
    event = add_event(connection, body=body(1, 2, 3, 4))
    waiting = add_job(connection, "order.announce", "pending", key="1", event_id=event, payload={"old": True})
    running = add_job(connection, "order.announce", "running", key="2", event_id=event)
    failed = add_job(connection, "order.announce", "failed", key="3", event_id=event, payload={"old": True}, max_attempts=2)
    total = add_job(connection, "order.total", "done", event_id=event)
    answer = operator(database_url, shop()).run({"command": "replay", "event": event})
    new = one(connection, "select id from jobs where key = '4'")
    assert outcomes(answer) == [
        (waiting, "order.announce", "kept"),
        (running, "order.announce", "kept"),
        (failed, "order.announce", "redriven"),
        (new, "order.announce", "created"),
        (total, "order.total", "exists"),
    ]
    assert one(connection, "select payload from jobs where id = %s", waiting) == {"old": True}
    # The code was mended, and so is what it reads out of the bytes.
    row = one(connection, "select status, attempts, payload, max_attempts, last_error from jobs where id = %s", failed)
    assert row == ("pending", 0, {"number": 3}, None, "no number")


def test_a_replay_twice_makes_nothing_twice(database_url: str, connection: Connection) -> None:
    event = add_event(connection, body=body(1))
    first = operator(database_url, shop()).run({"command": "replay", "event": event})
    second = operator(database_url, shop()).run({"command": "replay", "event": event})
    assert [job["id"] for job in second["jobs"]] == [job["id"] for job in first["jobs"]]
    assert {job["outcome"] for job in second["jobs"]} == {"kept"}


def test_two_replays_at_once_make_nothing_twice(database_url: str, connection: Connection) -> None:
    event = add_event(connection, body=body(1, 2))
    answers: list[dict[str, Any]] = []

    def work() -> None:
        answers.append(operator(database_url, shop()).run({"command": "replay", "event": event}))

    threads = [threading.Thread(target=work) for _ in range(4)]
    with connect(database_url) as holder, holder.transaction():
        holder.execute("select from events for update")
        for thread in threads:
            thread.start()
        wait_for_blocked(connection, len(threads))
    for thread in threads:
        thread.join()
    assert one(connection, "select count(*) from jobs") == 3
    assert sorted(job["outcome"] for answer in answers for job in answer["jobs"]) == ["created"] * 3 + ["kept"] * 9


def test_force_makes_new_jobs_of_those_that_are_done(database_url: str, connection: Connection) -> None:
    """B72: a new job with a link to the old one."""
    event = add_event(connection, body=body(1))
    announce = add_job(connection, "order.announce", "done", key="1", event_id=event, payload={"old": True})
    total = add_job(connection, "order.total", "done", event_id=event)
    answer = operator(database_url, shop()).run({"command": "replay", "event": event, "force": True})
    assert [job["outcome"] for job in answer["jobs"]] == ["created", "created"]
    query = "select copy_of, key, payload, event_id, correlation_id, status, limit_name from jobs where id = %s"
    assert one(connection, query, answer["jobs"][0]["id"]) == (
        announce, "1:2", {"number": 1}, event, "c-1", "pending", "telegram",
    )  # fmt: skip
    assert one(connection, query, answer["jobs"][1]["id"]) == (total, None, {"of": 1}, event, "c-1", "pending", "")
    again = operator(database_url, shop()).run({"command": "replay", "event": event, "force": True})
    assert outcomes(again) == [(job["id"], job["kind"], "kept") for job in answer["jobs"]]


def test_a_key_that_another_event_holds_is_said(database_url: str, connection: Connection) -> None:
    """B72: key in use, and no silent ok."""
    other = add_event(connection)
    holder = add_job(connection, "order.announce", "done", key="1", event_id=other)
    event = add_event(connection, body=body(1))
    operating = operator(database_url, shop())
    first = operating.run({"command": "replay", "event": event})["jobs"][0]
    message = f"its key is held by job {holder} of event {other}, which is done"
    assert first == {"id": holder, "kind": "order.announce", "outcome": "exists", "message": message}
    forced = operating.run({"command": "replay", "event": event, "force": True})["jobs"][0]
    row = one(connection, "select event_id, key, copy_of, payload from jobs where id = %s", forced["id"])
    assert row == (event, "1:2", holder, {"number": 1})


def test_a_key_that_is_taken_in_this_moment_is_said(
    database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the keys and the insert, somebody else enqueues the job."""
    event = add_event(connection, body=body(1))
    look = replay._holders
    taken: list[int] = []

    def late(*arguments: Any) -> Any:
        found = look(*arguments)
        if not taken:
            taken.append(add_job(connection, "order.announce", key="1"))
        return found

    monkeypatch.setattr(replay, "_holders", late)
    first = operator(database_url, shop()).run({"command": "replay", "event": event})["jobs"][0]
    assert (first["id"], first["outcome"]) == (taken[0], "exists")
    assert "of no event, which is pending" in first["message"]


def test_a_route_that_still_fails_says_why(database_url: str, connection: Connection) -> None:
    event = add_event(connection, body=b"{}", route_error="ValueError: old")
    error = operator(database_url, shop()).run({"command": "replay", "event": event})["error"]
    assert error == {"code": "conflict", "field": "event", "message": "its route fails: KeyError: 'orders'"}
    assert one(connection, "select route_error from events") == "KeyError: 'orders'"
    assert one(connection, "select count(*) from jobs") == 0
    assert operations(connection)[0][3] == {"refused": "its route fails: KeyError: 'orders'"}


def test_a_secret_in_the_fault_of_a_route_is_kept_nowhere(database_url: str, connection: Connection) -> None:
    source = Source("shop", verify=lambda request, settings, now: Accepted())

    @source.route
    def raising(event: Event) -> Iterable[NewJob]:
        raise ValueError(f"cannot read {SECRET}")

    event = add_event(connection)
    answer = operator(database_url, source).run({"command": "replay", "event": event})
    assert SECRET not in json.dumps(answer) + one(connection, "select route_error from events")


def test_a_source_that_is_gone_is_a_conflict(database_url: str, connection: Connection) -> None:
    event = add_event(connection, "gone", route_error="ValueError: old")
    error = operator(database_url, shop()).run({"command": "replay", "event": event})["error"]
    assert error == {"code": "conflict", "field": "event", "message": "no source 'gone' is loaded"}
    assert one(connection, "select route_error from events") == "ValueError: old"


@pytest.mark.parametrize("force", [True, False])
def test_a_dry_run_of_one_event_says_what_would_happen(database_url: str, connection: Connection, force: bool) -> None:
    event = add_event(connection, body=body(1, 2), route_error="ValueError: old")
    failed = add_job(connection, "order.announce", "failed", key="1", event_id=event)
    done = add_job(connection, "order.total", "done", event_id=event)
    answer = operator(database_url, shop()).run({"command": "replay", "event": event, "dry_run": True, "force": force})
    assert outcomes(answer) == [
        (failed, "order.announce", "redriven"),
        (None, "order.announce", "created"),
        (None if force else done, "order.total", "created" if force else "exists"),
    ]
    assert (one(connection, "select count(*) from jobs"), status_of(connection, failed)) == (2, "failed")
    assert one(connection, "select route_error from events") == "ValueError: old"
    assert operations(connection) == []


def test_the_event_of_a_redelivery_is_brought_back_by_a_replay(database_url: str, connection: Connection) -> None:
    """B25: a sender's redelivery is a duplicate and is counted; what re-runs the dead job is a replay of the event."""
    event = add_event(connection, body=body(1), dedup_key="guid-1", redeliveries=1)
    job = add_job(connection, "order.announce", "failed", key="1", event_id=event)
    assert operator(database_url, shop()).run({"command": "show", "event": event})["event"]["redeliveries"] == 1
    answer = operator(database_url, shop()).run({"command": "replay", "event": event})
    assert outcomes(answer)[0] == (job, "order.announce", "redriven")


def test_the_payload_of_a_failed_job_is_untouched_until_it_is_replayed(database_url: str, connection: Connection) -> None:
    """B76: a retry runs what was stored."""
    job = add_job(connection, status="failed", payload={"shape": "of yesterday"})
    operator(database_url, shop()).run({"command": "retry", "job": job})
    assert one(connection, "select payload from jobs") == {"shape": "of yesterday"}
