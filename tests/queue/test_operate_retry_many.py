"""retry of many, on a real database: in chunks, each a transaction, with one record."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tidemill.db import connect
from tidemill.operate import redrive
from tidemill.wire import Connection

from tests.queue.operating import add_job, one, operations, operator, status_of, wait_for_blocked

OLD = datetime(2026, 4, 28, tzinfo=UTC)


def count(connection: Connection, status: str) -> int:
    return int(one(connection, "select count(*) from jobs where status = %s", status))


def test_a_bulk_retry_reports_what_nobody_handles_and_redrives_the_rest(database_url: str, connection: Connection) -> None:
    """B70: one job that cannot go does not hold up the others."""
    known = [add_job(connection, kind, "failed") for kind in ("order.total", "order.announce")]
    gone = add_job(connection, "gone", "failed")
    answer = operator(database_url).run({"command": "retry", "since": "2020-01-01T00:00:00Z"})
    refused = [{"id": gone, "code": "conflict", "message": "no handler for kind 'gone'"}]
    assert answer == {"ok": True, "matched": 3, "changed": 2, "refused": refused}
    assert {status_of(connection, job) for job in known} == {"pending"}
    assert status_of(connection, gone) == "failed"
    assert one(connection, "select limit_name from jobs where kind = 'order.announce'") == "telegram"


def test_a_bulk_retry_takes_a_kind_a_class_and_a_span(database_url: str, connection: Connection) -> None:
    others = [
        add_job(connection, "order.announce", "failed", finished_at=OLD),
        add_job(connection, status="failed", finished_at=OLD, error_class="KeyError"),
        add_job(connection, status="failed", finished_at=OLD - timedelta(hours=1)),
        add_job(connection, status="failed", finished_at=OLD + timedelta(hours=1)),
    ]
    wanted = add_job(connection, status="failed", finished_at=OLD)
    command = {
        "command": "retry", "kind": "order.total", "error_class": "ValueError", "since": "2026-04-28T00:00:00Z",
        "until": "2026-04-28T01:00:00Z",
    }  # fmt: skip
    answer = operator(database_url).run(command)
    assert (answer["matched"], answer["changed"]) == (1, 1)
    assert status_of(connection, wanted) == "pending"
    assert {status_of(connection, job) for job in others} == {"failed"}


def test_a_dry_run_counts_and_changes_nothing(database_url: str, connection: Connection) -> None:
    add_job(connection, status="failed")
    gone = add_job(connection, "gone", "failed")
    answer = operator(database_url).run({"command": "retry", "until": "2100-01-01T00:00:00Z", "dry_run": True})
    assert (answer["matched"], answer["changed"], [one["id"] for one in answer["refused"]]) == (2, 0, [gone])
    assert count(connection, "failed") == 2
    assert operations(connection) == []


def test_a_bulk_retry_goes_through_many_chunks_with_one_record(
    database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redrive, "CHUNK", 7)
    connection.execute(
        "insert into jobs (kind, status, finished_at)"
        " select case when n % 5 = 0 then 'gone' else 'order.total' end, 'failed',"
        " timestamptz '2026-04-28' + (n / 10) * interval '1 second' from generate_series(1, 50) n"
    )
    answer = operator(database_url).run({"command": "retry", "until": "2100-01-01T00:00:00Z", "by": "ann"})
    assert (answer["matched"], answer["changed"], len(answer["refused"])) == (50, 40, 10)
    assert (count(connection, "pending"), count(connection, "failed")) == (40, 10)
    [(by, command, _, outcome)] = operations(connection)
    assert (by, command) == ("ann", "retry")
    assert outcome == {name: answer[name] for name in ("matched", "changed", "refused")}


def test_a_bulk_retry_that_is_killed_leaves_what_it_did_on_record(
    database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redrive, "CHUNK", 1)
    for _ in range(3):
        add_job(connection, status="failed")
    operating = operator(database_url)
    change = operating._parts.__class__.change
    calls = []

    def dying(parts: Any, work: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise SystemExit
        return change(parts, work)

    monkeypatch.setattr(operating._parts.__class__, "change", dying)
    with pytest.raises(SystemExit):
        operating.run({"command": "retry", "kind": "order.total"})
    assert count(connection, "pending") == 2
    assert operations(connection)[0][3] == {"matched": 2, "changed": 2, "unfinished": True}


def test_what_fails_after_the_bulk_retry_began_is_not_its_business(
    database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that fails again at once would otherwise be redriven for ever."""
    monkeypatch.setattr(redrive, "CHUNK", 1)
    add_job(connection, status="failed")
    connection.execute(
        "create function fail_again() returns trigger language plpgsql as $$ begin"
        " if new.status = 'pending' and old.priority < 5 then new.status := 'failed'; new.finished_at := clock_timestamp();"
        " new.priority := old.priority + 1; end if;"
        " return new; end $$;"
        "create trigger fail_again before update on jobs for each row execute function fail_again()"
    )
    answer = operator(database_url).run({"command": "retry", "kind": "order.total"})
    assert (answer["matched"], answer["changed"]) == (1, 1)


def test_a_job_that_somebody_changes_meanwhile_is_left_alone_and_said(
    database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = add_job(connection, status="failed")
    redrive_chunk = redrive._redrive_chunk

    def late(*arguments: Any) -> None:
        connection.execute("update jobs set status = 'discarded'")
        redrive_chunk(*arguments)

    monkeypatch.setattr(redrive, "_redrive_chunk", late)
    answer = operator(database_url).run({"command": "retry", "kind": "order.total"})
    assert (answer["matched"], answer["changed"], answer["refused"][0]["id"]) == (1, 0, job)
    assert "changed it meanwhile" in answer["refused"][0]["message"]
    assert operations(connection)[0][3]["refused"] == answer["refused"]
    assert status_of(connection, job) == "discarded"


def test_refusals_beyond_those_that_are_named_are_counted(database_url: str, connection: Connection) -> None:
    connection.execute(
        "insert into jobs (kind, status, finished_at) select 'gone', 'failed', now() from generate_series(1, 1003)"
    )
    answer = operator(database_url).run({"command": "retry", "kind": "gone"})
    assert (answer["matched"], answer["changed"], len(answer["refused"]), answer["refused_more"]) == (1003, 0, 1000, 3)


def test_a_change_is_tried_again_after_a_deadlock(database_url: str, connection: Connection) -> None:
    """B44: workers settle in an order of their own."""
    first, second = (add_job(connection, status="failed", finished_at=OLD + timedelta(seconds=n)) for n in range(2))
    name = one(connection, "select current_database()")
    connection.execute(f"alter database {name} set deadlock_timeout = '20ms'")  # type: ignore[call-overload]
    outcome: list[dict[str, Any]] = []
    thread = threading.Thread(
        target=lambda: outcome.append(operator(database_url).run({"command": "retry", "kind": "order.total"}))
    )
    with connect(database_url) as worker:
        worker.execute("set deadlock_timeout = '10s'")
        with worker.transaction():
            worker.execute("update jobs set worker = 'w2' where id = %s", [second])
            thread.start()
            wait_for_blocked(connection, 1)
            worker.execute("update jobs set worker = 'w2' where id = %s", [first])
    thread.join()
    assert (outcome[0]["matched"], outcome[0]["changed"]) == (2, 2)
