"""tail: what has happened since the last look, each thing once, whenever its transaction commits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tidemill.db import connect
from tidemill.operate import Operator
from tidemill.operate import tail as tailing
from tidemill.wire import Connection, statement

from tests.queue.operating import SECRET, add_event, add_job, operator

A_WHILE_AGO = timedelta(seconds=2)  # what ended within the last second waits for the next look


class Tail:
    """Somebody who looks again and again."""

    def __init__(self, operating: Operator, **fields: Any) -> None:
        self.operating = operating
        self.fields = fields
        self.answer = operating.run({"command": "tail"})
        assert self.answer["news"] == []

    def look(self) -> list[dict[str, Any]]:
        self.answer = self.operating.run({"command": "tail", "after": self.answer["after"], **self.fields})
        found: list[dict[str, Any]] = self.answer["news"]
        return found


def end(connection: Connection, status: str = "done", kind: str = "order.total", **columns: Any) -> int:
    """A job that has ended a moment after the last look; the clock of what has been said yet stands a second behind."""
    return add_job(connection, kind, status, finished_at=now(connection) + timedelta(milliseconds=-1001), **columns)


def now(connection: Connection) -> datetime:
    return datetime.fromisoformat(str(connection.execute("select clock_timestamp()").fetchall()[0][0]))


def fail(connection: Connection, job: int, attempt: int = 1, error: str = "no number") -> None:
    connection.execute(
        "insert into job_errors (job_id, attempt, error_class, error) values (%s, %s, 'ValueError', %s)",
        (job, attempt, error),
    )


@pytest.fixture
def tail(database_url: str) -> Tail:
    return Tail(operator(database_url))


def test_what_was_there_before_is_no_news(database_url: str, connection: Connection) -> None:
    add_event(connection)
    fail(connection, add_job(connection, status="done", finished_at=datetime.now(UTC) - timedelta(minutes=1)))
    tail = Tail(operator(database_url))
    assert tail.look() == []
    assert tail.look() == []


def test_an_event_is_told_once_with_the_number_of_its_jobs(tail: Tail, connection: Connection) -> None:
    event = add_event(connection, correlation_id="c-7")
    for _ in range(2):
        add_job(connection, event_id=event)
    [told] = tail.look()
    assert (told["what"], told["id"], told["source"], told["jobs"]) == ("event", event, "shop", 2)
    assert (told["correlation_id"], told["route_error"]) == ("c-7", None)
    assert tail.look() == []


@pytest.mark.usefixtures("planted")
def test_an_event_that_could_not_be_routed_says_why(tail: Tail, connection: Connection) -> None:
    add_event(connection, route_error=f"KeyError: {SECRET}")
    [told] = tail.look()
    assert told["route_error"] == "KeyError: ***"


@pytest.mark.usefixtures("planted")
def test_a_failed_attempt_is_told_with_its_error(tail: Tail, connection: Connection) -> None:
    job = add_job(connection, "order.announce", correlation_id="c-7", attempts=1)
    fail(connection, job, error=f"no {SECRET} here")
    [told] = tail.look()
    assert (told["what"], told["job"], told["kind"], told["attempt"]) == ("attempt", job, "order.announce", 1)
    assert (told["error_class"], told["error"], told["correlation_id"]) == ("ValueError", "no *** here", "c-7")
    assert tail.look() == []


@pytest.mark.parametrize("status", ["done", "failed", "discarded"])
def test_the_end_of_a_job_is_told_once(tail: Tail, connection: Connection, status: str) -> None:
    connection.execute("select pg_sleep(0.01)")  # the place to begin at is a second back
    job = end(connection, status, attempts=3)
    [told] = tail.look()
    assert (told["what"], told["job"], told["status"], told["attempts"]) == ("job", job, status, 3)
    assert tail.look() == []


def test_the_last_failed_attempt_is_told_by_the_end_of_its_job(tail: Tail, connection: Connection) -> None:
    connection.execute("select pg_sleep(0.01)")
    job = end(connection, "failed", attempts=2)
    for attempt in (1, 2):
        fail(connection, job, attempt)
    assert sorted((told["what"], told.get("attempt")) for told in tail.look()) == [("attempt", 1), ("job", None)]


def test_a_job_that_is_ending_at_this_moment_waits_for_the_next_look(tail: Tail, connection: Connection) -> None:
    """Its transaction, or that of one that ended before it, may not have committed."""
    job = add_job(connection, status="done", finished_at=now(connection))
    assert tail.look() == []
    connection.execute("select pg_sleep(1.01)")
    assert [told["job"] for told in tail.look()] == [job]


def test_an_old_job_that_fails_is_told_by_its_index(
    tail: Tail, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tailing, "NEWEST", 1)
    connection.execute("select pg_sleep(0.01)")
    failed, done = end(connection, "failed"), end(connection, "done")
    add_job(connection)
    assert [told["job"] for told in tail.look()] == [failed]
    assert done not in [told["job"] for told in tail.look()]


def test_what_an_operator_has_done_is_told(tail: Tail, connection: Connection) -> None:
    job = add_job(connection, status="failed")
    tail.operating.run({"command": "retry", "job": job, "by": "ann"})
    [told] = [one for one in tail.look() if one["what"] == "operation"]
    assert (told["by"], told["command"], told["arguments"]) == ("ann", "retry", f'{{"job": {job}}}')


def test_a_transaction_that_commits_late_is_told_too(tail: Tail, connection: Connection, database_url: str) -> None:
    """B94: an id that was skipped since nobody could see its row yet."""
    with connect(database_url) as slow:
        with slow.transaction():
            late = add_event(slow)
            early = add_event(connection)
            assert [told["id"] for told in tail.look()] == [early]
        assert [told["id"] for told in tail.look()] == [late]
    assert tail.look() == []


def test_more_than_a_page_is_told_in_several_looks(database_url: str, connection: Connection) -> None:
    tail = Tail(operator(database_url), limit=2)
    events = [add_event(connection) for _ in range(5)]
    looks, more = [], []
    for _ in range(4):
        looks.append([told["id"] for told in tail.look()])
        more.append(tail.answer["more"])
    assert looks == [events[:2], events[2:4], events[4:], []]
    assert more == [True, True, False, False]


def test_ends_at_one_instant_are_told_once_each_over_several_looks(database_url: str, connection: Connection) -> None:
    tail = Tail(operator(database_url), limit=2)
    connection.execute("select pg_sleep(0.01)")
    at = now(connection) - timedelta(milliseconds=1001)
    jobs = [add_job(connection, status="done", finished_at=at) for _ in range(5)]
    assert [[told["job"] for told in tail.look()] for _ in range(4)] == [jobs[:2], jobs[2:4], jobs[4:], []]


def test_news_come_in_the_order_of_time(tail: Tail, connection: Connection) -> None:
    later = add_event(connection, received_at=datetime(2027, 4, 30, 10, tzinfo=UTC))
    earlier = add_event(connection, received_at=datetime(2027, 4, 30, 9, tzinfo=UTC))
    assert [told["id"] for told in tail.look()] == [earlier, later]


def test_the_place_does_not_grow(tail: Tail, connection: Connection) -> None:
    connection.execute("insert into events (source, body) select 'shop', '' from generate_series(1, 1000)")
    sizes = set()
    while tail.look():
        sizes.add(len(tail.answer["after"]))
    assert max(sizes) < 8 * tailing.OVERLAP * 3


def test_a_look_reads_no_table_from_end_to_end(tail: Tail, connection: Connection) -> None:
    connection.execute("insert into events (source, body) select 'shop', '' from generate_series(1, 20000)")
    connection.execute(
        "insert into jobs (kind, status, finished_at)"
        " select 'a', 'done', now() - interval '1 hour' from generate_series(1, 20000)"
    )
    connection.execute(
        "insert into job_errors (job_id, attempt, error_class, error) select id, 1, 'a', 'b' from jobs limit 20000"
    )
    connection.execute("analyze events, jobs, job_errors")
    connection.execute("select pg_sleep(0.01)")
    place = tailing.after("after", tail.operating.run({"command": "tail"})["after"])
    bounds = {"overlap": tailing.OVERLAP, "newest": tailing.NEWEST, "longest": tailing.LONGEST, "size": 200}
    rows = connection.execute(f"explain {statement('operate_tail')}", {**place, **bounds}).fetchall()  # type: ignore[arg-type]
    plan = "\n".join(line for (line,) in rows)
    assert "Seq Scan on events" not in plan, plan
    assert "Seq Scan on jobs" not in plan, plan
    assert "Seq Scan on job_errors" not in plan, plan
