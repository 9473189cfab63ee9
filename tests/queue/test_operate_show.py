"""show and stats, on a real database."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tidemill.operate import show, stats
from tidemill.wire import Connection, statement

from tests.queue.operating import SECRET, add_event, add_job, one, operator

OLD = datetime(2026, 4, 28, tzinfo=UTC)


def shown(database_url: str, **what: int) -> dict[str, Any]:
    answer = operator(database_url).run({"command": "show", **what})
    assert answer["ok"], answer
    return dict(answer)


def add_error(connection: Connection, job: int, attempt: int, error: str = "no number") -> None:
    query = "insert into job_errors (job_id, attempt, worker, error_class, error) values (%s, %s, 'w1', 'ValueError', %s)"
    connection.execute(query, [job, attempt, error])


def test_a_job_is_shown_with_its_event_errors_and_siblings(database_url: str, connection: Connection) -> None:
    event = add_event(connection, dedup_key="d-1", redeliveries=2)
    job = add_job(connection, status="failed", event_id=event, payload={"n": 1}, key="17", finished_at=OLD)
    sibling = add_job(connection, "order.announce", "done", event_id=event)
    add_job(connection)
    add_error(connection, job, 1, "first")
    add_error(connection, job, 2, "second")
    answer = shown(database_url, job=job)
    expected = {"id": job, "status": "failed", "payload": {"n": 1}, "result": None, "key": "17", "last_error": "no number"}
    assert expected.items() <= answer["job"].items()
    assert datetime.fromisoformat(answer["job"]["failed_at"]) == OLD
    assert [(error["attempt"], error["error"]) for error in answer["errors"]] == [(1, "first"), (2, "second")]
    assert (answer["event"]["id"], answer["event"]["dedup_key"], answer["event"]["redeliveries"]) == (event, "d-1", 2)
    assert answer["siblings"] == [{"id": sibling, "kind": "order.announce", "status": "done"}]


def test_a_job_without_an_event_is_shown(database_url: str, connection: Connection) -> None:
    answer = shown(database_url, job=add_job(connection, result={"done": True}))
    assert (answer["event"], answer["siblings"], answer["errors"]) == (None, [], [])
    assert answer["job"]["result"] == {"done": True}


def test_of_many_errors_the_latest_are_shown(database_url: str, connection: Connection) -> None:
    job = add_job(connection)
    for attempt in range(1, 61):
        add_error(connection, job, attempt)
    assert [error["attempt"] for error in shown(database_url, job=job)["errors"]] == list(range(11, 61))


@pytest.mark.parametrize(
    "payload", [json.dumps("x" * (show.BOUND + 10)), "[" * 5000 + "]" * 5000, '{"secret": "' + SECRET + '"}', "1" * 5000]
)
def test_a_job_of_any_payload_can_be_shown(database_url: str, connection: Connection, payload: str) -> None:
    """B76: also one that a plain insert made, and that the handler cannot read. Too large or too deep, it is text."""
    job = add_job(connection)
    connection.execute("update jobs set payload = %s", [payload])
    answer = shown(database_url, job=job)
    text = json.dumps(answer)
    assert len(text) < show.BOUND + 5000 and SECRET not in text
    assert answer["job"].get("payload_text", "")[:5] == ({"[": "[[[[[", '"': '"xxxx', "1": "11111"}.get(payload[0], ""))


def test_a_time_without_an_end_can_be_shown(database_url: str, connection: Connection) -> None:
    """Plain inserts may write what no Python datetime can hold."""
    job = add_job(connection, run_at="infinity")
    assert shown(database_url, job=job)["job"]["run_at"] == "infinity"


def test_an_event_is_shown_with_its_bytes_and_what_became_of_its_jobs(database_url: str, connection: Connection) -> None:
    event = add_event(
        connection, body='{"a": "é"}'.encode(), headers={"x-shop-delivery": "d-1"}, redeliveries=2, token="t0ken"
    )
    failed = add_job(connection, status="failed", event_id=event)
    done = add_job(connection, "order.announce", "done", event_id=event, key="17")
    add_error(connection, failed, 1)
    answer = shown(database_url, event=event)
    expected = {
        "id": event, "source": "shop", "headers": {"x-shop-delivery": "d-1"}, "body": "{\"a\": \"é\"}", "body_bytes": 11,
        "redeliveries": 2, "route_error": None,
    }  # fmt: skip
    assert expected.items() <= answer["event"].items()
    assert "t0ken" not in json.dumps(answer)
    assert [(job["id"], job["status"], job["key"]) for job in answer["jobs"]] == [
        (failed, "failed", None),
        (done, "done", "17"),
    ]
    assert [error["error"] for error in answer["jobs"][0]["errors"]] == ["no number"]
    assert answer["jobs"][1]["errors"] == []


def test_a_body_that_is_no_text_is_shown_in_base64(database_url: str, connection: Connection) -> None:
    event = shown(database_url, event=add_event(connection, body=b"\xff\x00\x01"))["event"]
    assert "body" not in event and base64.b64decode(event["body_base64"]) == b"\xff\x00\x01"


def test_a_long_body_is_cut_between_two_characters(database_url: str, connection: Connection) -> None:
    text = "x" + "é" * show.BOUND
    event = shown(database_url, event=add_event(connection, body=text.encode()))["event"]
    assert event["body"] == text[: show.BOUND // 2]
    assert event["body_bytes"] == 1 + 2 * show.BOUND


def test_a_text_that_ends_in_half_a_character_is_no_text(database_url: str, connection: Connection) -> None:
    assert "body_base64" in shown(database_url, event=add_event(connection, body=b"x\xc3"))["event"]


def test_a_secret_in_a_body_is_not_shown(database_url: str, connection: Connection) -> None:
    event = add_event(connection, body=json.dumps({"clientState": SECRET}).encode())
    assert shown(database_url, event=event)["event"]["body"] == '{"clientState": "***"}'


def test_stats_say_how_the_line_stands(database_url: str, connection: Connection) -> None:
    now = datetime.now(UTC)
    add_job(connection, run_at=now - timedelta(minutes=5))
    add_job(connection, run_at=now - timedelta(minutes=50), tenant="t", priority=3)
    add_job(connection, run_at=now + timedelta(hours=1))
    add_job(connection, "order.announce", "running", run_at=now - timedelta(hours=9))
    add_job(connection, "order.announce", "failed")
    for status in ("done", "done", "discarded"):
        add_job(connection, status=status)
    add_event(connection, route_error="KeyError")
    add_event(connection)
    connection.execute(
        "insert into schedules (name, kind, rule, last_slot) values ('digest', 'order.total', 'daily', %s)", [OLD]
    )
    connection.execute(
        "insert into limits (name, size, paused_until) values ('telegram', 2, now() - interval '1 s'), ('z', 1, '9999-1-1')"
    )
    connection.execute(
        "insert into places values ('telegram', 0, 1, now() + interval '1 h'), ('telegram', 1, 2, now() - interval '1 s')"
    )
    answer = operator(database_url).run({"command": "stats"})
    assert answer["jobs"] == {"pending": 3, "running": 1, "failed": 1, "done": 2, "discarded": 1}
    assert (answer["ready"], answer["unrouted"], answer["capped"]) == (2, 1, [])
    assert answer["kinds"] == {
        "order.announce": {"pending": 0, "running": 1, "failed": 1}, "order.total": {"pending": 3, "running": 0, "failed": 0}
    }  # fmt: skip
    assert 3000 <= answer["oldest_ready_age"] < 3600
    first, second = answer["limits"]
    assert first == {"name": "telegram", "size": 2, "used": 1, "paused_until": None}
    assert second["paused_until"].startswith("9999-01-01")
    [schedule] = answer["schedules"]
    assert (schedule["name"], datetime.fromisoformat(schedule["last_slot"])) == ("digest", OLD)


def test_stats_of_nothing_are_zeros(database_url: str) -> None:
    answer = operator(database_url).run({"command": "stats"})
    assert set(answer["jobs"].values()) == {0}
    assert (answer["ready"], answer["oldest_ready_age"], answer["kinds"], answer["limits"]) == (0, None, {}, [])


def test_a_count_stops_and_is_named(database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A count is a lower bound beyond the bound, and no scan of the table."""
    monkeypatch.setattr(stats, "MOST", 5)
    for status in ("pending", "failed", "done"):
        for _ in range(7):
            add_job(connection, status=status)
    answer = operator(database_url).run({"command": "stats"})
    assert answer["capped"] == ["pending", "running", "failed", "done", "discarded", "ready"]
    assert answer["jobs"] == {"pending": 5, "running": 0, "failed": 5, "done": 5, "discarded": 0}
    assert answer["kinds"] == {"order.total": {"pending": 5, "running": 0, "failed": 5}}


def test_counts_read_indexes_and_not_the_table(connection: Connection) -> None:
    connection.execute(
        "insert into jobs (kind, status, finished_at) select 'a', 'done', now() from generate_series(1, 20000);"
        " insert into events (source, body) select 'shop', '' from generate_series(1, 20000)"
    )
    connection.execute("analyze")
    plan = connection.execute("explain " + statement("operate_counts"), {"most": 100}).fetchall()  # type: ignore[call-overload]
    text = "\n".join(line for (line,) in plan)
    assert "Seq Scan" not in text and text.count("Index") >= 4, text
    assert one(connection, "select count(*) from jobs") == 20000
