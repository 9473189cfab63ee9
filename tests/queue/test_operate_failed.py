"""failed, on a real database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tidemill.wire import Connection

from tests.queue.operating import add_event, add_job, operator

OLD = datetime(2026, 4, 28, tzinfo=UTC)


def test_failed_lists_what_a_person_needs_to_judge(database_url: str, connection: Connection) -> None:
    event = add_event(connection)
    job = add_job(connection, "order.announce", "failed", event_id=event, finished_at=OLD)
    add_job(connection, status="done")
    [listed] = operator(database_url).run({"command": "failed"})["jobs"]
    assert datetime.fromisoformat(listed.pop("failed_at")) == OLD
    assert listed == {
        "id": job, "kind": "order.announce", "attempts": 8, "error_class": "ValueError", "last_error": "no number",
        "event_id": event,
    }  # fmt: skip


def test_the_pages_of_failed_hold_each_job_once_the_latest_first(database_url: str, connection: Connection) -> None:
    # Three at the very same instant: the cursor must tell them apart.
    jobs = [
        add_job(connection, status="failed", finished_at=OLD + timedelta(seconds=seconds)) for seconds in (0, 1, 1, 1, 2)
    ]
    found: list[int] = []
    after = None
    while True:
        answer = operator(database_url).run({"command": "failed", "limit": 2, "after": after})
        found += [job["id"] for job in answer["jobs"]]
        if (after := answer["after"]) is None:
            break
    assert found == jobs[::-1]


def test_failed_takes_a_kind_a_class_and_a_span(database_url: str, connection: Connection) -> None:
    add_job(connection, "order.announce", "failed", finished_at=OLD)
    add_job(connection, status="failed", finished_at=OLD, error_class="KeyError")
    add_job(connection, status="failed", finished_at=OLD - timedelta(hours=1))
    wanted = add_job(connection, status="failed", finished_at=OLD)
    add_job(connection, status="failed", finished_at=OLD + timedelta(hours=1))
    command = {
        "command": "failed", "kind": "order.total", "error_class": "ValueError", "since": "2026-04-28T00:00:00Z",
        "until": "2026-04-28T01:00:00Z",
    }  # fmt: skip
    assert [job["id"] for job in operator(database_url).run(command)["jobs"]] == [wanted]
