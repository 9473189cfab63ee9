"""Jobs that run from a queue: how a drain hands them over, and what becomes of them when a message is lost."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from tidemill import queue
from tidemill.db import Database
from tidemill.errors import ConfigurationError
from tidemill.handlers import Handler, handler
from tidemill.wire import Connection
from tidemill.worker import Worker

from tests.queue.conftest import expire_leases, make_due, put
from tests.queue.dying import Death, dying_parts, in_a_process
from tests.queue.operating import operator

MakeWorker = Callable[..., Worker]


def never(job: object, ctx: object) -> None:
    raise AssertionError("a drain does not run it")


SENT = Handler("work", never, via="sqs")


def sent(connection: Connection) -> list[tuple[Any, ...]]:
    return connection.execute("select topic, payload, attributes from outbox order by id").fetchall()


def jobs(connection: Connection, columns: str) -> list[tuple[Any, ...]]:
    return connection.execute(f"select {columns} from jobs order by id").fetchall()  # type: ignore[arg-type]


def test_a_drain_hands_the_job_over_and_uses_no_attempt(connection: Connection, worker: MakeWorker) -> None:
    [job] = put(connection, correlation_id="c-1")
    drain = worker(SENT)
    assert drain.drain(120) == {"sent": 1}
    assert sent(connection) == [("jobs", {"job": job}, {"correlation_id": "c-1"})]
    assert jobs(connection, "status, attempts, sent_at is not null, locked_until, last_error") == [
        ("pending", 0, True, None, None)
    ]
    assert drain.take_published()


def test_a_job_that_is_out_is_left_alone(connection: Connection, worker: MakeWorker) -> None:
    put(connection, 3)
    drain = worker(SENT)
    assert [drain.drain(120), drain.drain(120)] == [{"sent": 3}, {}]
    assert len(sent(connection)) == 3


def test_a_job_whose_message_was_lost_is_sent_again_after_a_day(connection: Connection, worker: MakeWorker) -> None:
    [job] = put(connection)
    drain = worker(SENT)
    drain.drain(120)
    assert jobs(connection, "run_at between now() + interval '23 hours' and now() + interval '1 day'") == [(True,)]
    make_due(connection)
    assert drain.drain(120) == {"sent": 1}
    assert [payload for _, payload, _ in sent(connection)] == [{"job": job}] * 2


def test_a_job_whose_consumer_died_is_sent_anew_after_its_backoff(
    connection: Connection, database: Database, worker: MakeWorker
) -> None:
    put(connection, status="running", claim_id=7, attempts=1, sent_at="2027-01-01", locked_until="2027-01-01")
    expire_leases(connection)
    queue.reap(database, {"work": 8})
    assert jobs(connection, "status, sent_at, attempts, run_at < now() + interval '11 seconds'") == [
        ("pending", None, 1, True)
    ]
    make_due(connection)
    assert worker(SENT).drain(120) == {"sent": 1}


def test_jobs_of_other_kinds_run_beside_it(connection: Connection, worker: MakeWorker) -> None:
    put(connection, 2)
    put(connection, 2, kind="here")
    assert worker(SENT, Handler("here", lambda job, ctx: None)).drain(120) == {"sent": 2, "done": 2}


def test_a_limited_job_is_handed_over_with_a_place_which_is_free_again(connection: Connection, worker: MakeWorker) -> None:
    put(connection, 3, limit_name="mail")
    handler = Handler("work", never, limit_name="mail", limit_size=1, via="sqs")
    assert worker(handler, linger=1).drain(120) == {"sent": 3}
    assert connection.execute("select count(*) from places where holder is not null").fetchone() == (0,)


@pytest.mark.parametrize("when", ["before", "after"])
def test_sigkill_between_any_two_statements_sends_each_job_out_with_its_row(
    connection: Connection, database_url: str, database: Database, worker: MakeWorker, when: str
) -> None:
    for number in count(1):
        connection.execute("truncate jobs, outbox restart identity cascade")
        ids = put(connection, 3)
        death = Death(when, number)
        killed = in_a_process(lambda death=death: Worker(dying_parts(database_url, death, SENT)).drain(120))  # type: ignore[misc]
        expire_leases(connection)
        queue.reap(database, {"work": 8})
        connection.execute("update jobs set run_at = now() where sent_at is null")
        worker(SENT).drain(120)
        assert jobs(connection, "status, sent_at is not null") == [("pending", True)] * 3
        assert sorted(payload["job"] for _, payload, _ in sent(connection)) == ids
        if not killed:
            break
    assert number > 2  # claim, settle


# What the operator sees


def test_retry_sends_a_failed_job_anew(connection: Connection, database_url: str, worker: MakeWorker) -> None:
    columns = {"status": "failed", "attempts": 8, "sent_at": "2027-01-01", "finished_at": "2027-01-01"}
    [job] = put(connection, kind="order.total", **columns)
    operate = operator(database_url)
    assert [one["id"] for one in operate.run({"command": "failed"})["jobs"]] == [job]
    assert operate.run({"command": "retry", "job": job})["outcome"] == "redriven"
    assert jobs(connection, "status, attempts, sent_at") == [("pending", 0, None)]
    assert worker(Handler("order.total", never, via="sqs")).drain(120) == {"sent": 1}


def test_show_tells_when_a_job_that_is_out_is_due_not_when_it_would_be_sent_again(
    connection: Connection, database_url: str, worker: MakeWorker
) -> None:
    [job] = put(connection)
    worker(SENT).drain(120)
    shown = operator(database_url).run({"command": "show", "job": job})["job"]
    assert shown["status"] == "pending" and shown["sent_at"][:16] == shown["run_at"][:16]


@pytest.mark.parametrize("via", ["SQS", "", "sns", True, 7])
def test_a_way_that_is_none_is_refused_at_load(via: Any) -> None:
    with pytest.raises(ConfigurationError, match="handler 'work': via must be None or 'sqs'"):
        handler("work", via=via)


def test_a_handler_says_which_way_it_runs() -> None:
    from tidemill.handlers import declared

    @handler("tests.sent", via="sqs")
    def send(job: object, ctx: object) -> None: ...

    assert [one.via for one in declared.of([__name__]) if one.kind == "tests.sent"] == ["sqs"]
