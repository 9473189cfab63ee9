"""The drain: what becomes of jobs whose handlers do well, fail, hang, or do what nobody expects."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tidemill import queue
from tidemill.db import Database
from tidemill.errors import PermanentError, RateLimited
from tidemill.handlers import Handler
from tidemill.model import Job, NewJob
from tidemill.outcome import Discard, Snooze
from tidemill.wire import Connection
from tidemill.worker import Worker

from tests.queue.conftest import Told, expire_leases, make_due, put, status

MakeWorker = Callable[..., Worker]


def row(connection: Connection, job_id: int, columns: str) -> tuple[Any, ...]:
    found = connection.execute(f"select {columns} from jobs where id = %s", (job_id,)).fetchone()  # type: ignore[arg-type]
    assert found is not None
    return found


def fail(job: Job, ctx: Any) -> None:
    raise ValueError("no")


def test_a_handler_gets_its_job_and_its_result_is_kept(connection: Connection, worker: MakeWorker) -> None:
    (job_id,) = put(connection, payload='{"a": 1}', correlation_id="c-1", tenant="t", key="k")
    seen: list[Job] = []

    def handle(job: Job, ctx: Any) -> Any:
        seen.append(job)
        return {"attempt": job.attempt}

    assert worker(Handler("work", handle)).drain(120) == {"done": 1}
    assert seen[0][:9] == (job_id, "work", {"a": 1}, 1, None, "k", None, "c-1", "t")
    assert row(connection, job_id, "status, result, locked_until, finished_at is not null") == (
        "done",
        {"attempt": 1},
        None,
        True,
    )


def test_a_failed_attempt_waits_and_the_last_one_fails_for_good(
    connection: Connection, worker: MakeWorker, told: Told
) -> None:
    (job_id,) = put(connection, max_attempts=2)
    drain = worker(Handler("work", fail))
    assert drain.drain(120) == {"retried": 1}
    assert row(connection, job_id, "status, attempts, run_at > now() + interval '7 seconds'") == ("pending", 1, True)
    assert (drain.drain(120), told) == ({}, [])
    make_due(connection)
    assert drain.drain(120) == {"failed": 1}
    assert row(connection, job_id, "status, attempts, error_class, last_error") == ("failed", 2, "ValueError", "no")
    assert told == [(job_id, "ValueError", "no")]
    errors = connection.execute("select attempt, error_class, error, worker from job_errors order by id").fetchall()
    assert errors == [(1, "ValueError", "no", "test"), (2, "ValueError", "no", "test")]


def test_the_attempts_are_the_handlers_where_the_job_names_none(connection: Connection, worker: MakeWorker) -> None:
    (job_id,) = put(connection)
    worker(Handler("work", fail, max_attempts=1)).drain(120)
    assert status(connection, job_id) == "failed"


def test_a_permanent_error_ends_the_job_at_once(connection: Connection, worker: MakeWorker, told: Told) -> None:
    (job_id,) = put(connection)

    def handle(job: Job, ctx: Any) -> None:
        raise PermanentError("an order without a number")

    worker(Handler("work", handle)).drain(120)
    assert row(connection, job_id, "status, attempts, last_error") == ("failed", 1, "an order without a number")
    assert told == [(job_id, "PermanentError", "an order without a number")]


def test_a_rate_limit_uses_no_attempt_and_is_never_undercut(connection: Connection, worker: MakeWorker) -> None:
    (job_id,) = put(connection)

    def handle(job: Job, ctx: Any) -> None:
        raise RateLimited(60)

    worker(Handler("work", handle)).drain(120)
    waits = "run_at between now() + interval '59 seconds' and now() + interval '73 seconds'"
    assert row(connection, job_id, f"status, attempts, error_class, {waits}") == ("pending", 0, "RateLimited", True)
    assert connection.execute("select count(*) from job_errors").fetchone() == (0,)


def test_a_snooze_uses_no_attempt(connection: Connection, worker: MakeWorker) -> None:
    (job_id,) = put(connection)
    assert worker(Handler("work", lambda job, ctx: Snooze(100))).drain(120) == {"snoozed": 1}
    assert row(connection, job_id, "status, attempts, run_at > now() + interval '90 seconds'") == ("pending", 0, True)


def test_a_discarded_job_ends_with_its_reason(connection: Connection, worker: MakeWorker, told: Told) -> None:
    (job_id,) = put(connection)
    worker(Handler("work", lambda job, ctx: Discard("not wanted any more"))).drain(120)
    assert row(connection, job_id, "status, last_error") == ("discarded", "not wanted any more")
    assert (told, connection.execute("select count(*) from dead_letters").fetchone()) == ([], (0,))


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def recurse(job: Job, ctx: Any) -> None:
    recurse(job, ctx)


def raising(error: Callable[[], BaseException]) -> Callable[[Job, Any], None]:
    def handle(job: Job, ctx: Any) -> None:
        raise error()

    return handle


def leave(job: Job, ctx: Any) -> None:
    sys.exit(3)


def bad_sql(job: Job, ctx: Any) -> None:
    ctx.connection.execute("select * from nowhere")


@pytest.mark.parametrize(
    ("handle", "error_class", "text"),
    [
        (fail, "ValueError", "no"),
        (leave, "SystemExit", "the handler called sys.exit(3)"),
        (raising(KeyboardInterrupt), "KeyboardInterrupt", "KeyboardInterrupt"),
        (raising(MemoryError), "MemoryError", "MemoryError"),
        (recurse, "RecursionError", "maximum recursion depth"),
        (raising(lambda: ValueError("a\0b\udc80")), "ValueError", "a\ufffdb\ufffd"),
        (raising(lambda: ValueError("x" * 20_000_000)), "ValueError", "x" * 1000),
        (raising(Unprintable), "Unprintable", "<its text raises RuntimeError>"),
        (raising(lambda: KeyError()), "KeyError", "KeyError"),
        (bad_sql, "UndefinedTable", "nowhere"),
        (raising(lambda: ValueError("with s3cret-word inside")), "ValueError", "with *** inside"),
    ],
)
def test_a_fault_of_one_job_never_touches_its_neighbours(
    connection: Connection, worker: MakeWorker, handle: Callable[[Job, Any], None], error_class: str, text: str
) -> None:
    """B45, B55, B56"""
    put(connection, 3, kind="good")
    (bad,) = put(connection)
    put(connection, 3, kind="good")
    drain = worker(Handler("work", handle), Handler("good", lambda job, ctx: None), settings={"API_TOKEN": "s3cret-word"})
    assert drain.drain(120) == {"done": 6, "retried": 1}
    found_class, found_text, length = row(connection, bad, "error_class, last_error, octet_length(last_error)")
    assert (found_class, text in found_text, length <= 4096) == (error_class, True, True)


@pytest.mark.parametrize(
    "result", [{"out": "a\0b"}, {"out": "\udc80"}, object(), {"n": float("nan")}, "x" * 2_000_000, {1, 2}]
)
def test_a_result_that_cannot_be_kept_is_left_out_and_the_job_is_done(
    connection: Connection, worker: MakeWorker, result: object
) -> None:
    """B02"""
    (job_id,) = put(connection)
    calls: list[int] = []

    def handle(job: Job, ctx: Any) -> object:
        calls.append(job.id)
        return result

    worker(Handler("work", handle)).drain(120)
    found, kept = row(connection, job_id, "status, result")
    assert (found, list(kept), calls) == ("done", ["left_out"], [job_id])


def test_a_hanging_job_fails_for_its_timeout_and_its_neighbours_go_on(connection: Connection, worker: MakeWorker) -> None:
    release = threading.Event()
    (hanging,) = put(connection)
    good = put(connection, 20, kind="good")
    drain = worker(
        Handler("work", lambda job, ctx: release.wait(30), timeout=0.2), Handler("good", lambda job, ctx: None), threads=1
    )
    assert drain.drain(120) == {"retried": 1, "done": 20}
    assert row(connection, hanging, "status, error_class, last_error") == (
        "pending", "JobTimeout", "ran longer than its timeout of 0.2 s",
    )  # fmt: skip
    assert {status(connection, job_id) for job_id in good} == {"done"}
    assert drain.stuck == 1
    release.set()


def test_a_job_over_its_time_cannot_settle_late(connection: Connection, worker: MakeWorker) -> None:
    (job_id,) = put(connection)
    ended = threading.Event()

    def handle(job: Job, ctx: Any) -> str:
        time.sleep(0.4)
        ended.set()
        return "late"

    worker(Handler("work", handle, timeout=0.1)).drain(120)
    assert ended.wait(5)
    assert row(connection, job_id, "status, result") == ("pending", None)


def test_what_a_job_over_its_time_runs_on_the_database_is_cancelled(connection: Connection, worker: MakeWorker) -> None:
    put(connection)
    errors: list[str] = []

    def handle(job: Job, ctx: Any) -> None:
        try:
            ctx.connection.execute("select pg_sleep(30)")
        except Exception as error:
            errors.append(type(error).__name__)

    worker(Handler("work", handle, timeout=0.2)).drain(120)
    deadline = time.monotonic() + 5
    while not errors and time.monotonic() < deadline:
        time.sleep(0.01)
    assert errors == ["QueryCanceled"]


def test_what_a_handler_leaves_open_is_rolled_back_and_the_next_one_finds_a_clean_connection(
    connection: Connection, worker: MakeWorker
) -> None:
    """B45"""
    put(connection, 5)
    connection.execute("create table written (job bigint)")

    def handle(job: Job, ctx: Any) -> None:
        assert ctx.connection.autocommit
        ctx.connection.autocommit = False
        ctx.connection.execute("insert into written values (1)")

    assert worker(Handler("work", handle), threads=1).drain(120) == {"done": 5}
    assert connection.execute("select count(*) from written").fetchone() == (0,)


def test_a_job_enqueued_by_a_handler_joins_its_transaction_and_carries_the_correlation_id(
    connection: Connection, worker: MakeWorker
) -> None:
    put(connection, 2, correlation_id="c-9")

    def handle(job: Job, ctx: Any) -> None:
        with ctx.connection.transaction():
            ctx.enqueue(NewJob("child", key=job.id))
            if job.id % 2:
                raise ValueError("rolled back")

    worker(Handler("work", handle)).drain(120)
    assert connection.execute("select key::int % 2, correlation_id from jobs where kind = 'child'").fetchall() == [
        (0, "c-9")
    ]


def test_the_lease_of_a_long_job_is_extended(connection: Connection, worker: MakeWorker, database: Database) -> None:
    (job_id,) = put(connection)
    reaped: list[Any] = []

    def handle(job: Job, ctx: Any) -> None:
        until = time.monotonic() + 2.5
        while time.monotonic() < until:
            reaped.extend(queue.reap(database, {"work": 8}))
            time.sleep(0.1)

    assert worker(Handler("work", handle), lease=1).drain(120) == {"done": 1}
    assert (reaped, status(connection, job_id)) == ([], "done")


def test_a_worker_that_lost_its_lease_changes_nothing_and_says_so(
    connection: Connection, worker: MakeWorker, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """B35"""
    (job_id,) = put(connection)

    def handle(job: Job, ctx: Any) -> str:
        expire_leases(connection)
        queue.reap(database, {"work": 8})
        connection.execute("update jobs set status = 'running', claim_id = 7, locked_until = now() + interval '1 hour'")
        return "mine"

    worker(Handler("work", handle)).drain(120)
    assert row(connection, job_id, "status, claim_id, result") == ("running", 7, None)
    lost = [
        line
        for line in map(json.loads, capsys.readouterr().out.splitlines())
        if line.get("message", "").startswith("lost lease")
    ]
    assert [line["job"] for line in lost] == [job_id]


def test_a_lost_lease_is_noticed_while_the_job_still_runs(connection: Connection, worker: MakeWorker) -> None:
    put(connection)
    said = threading.Event()
    noticed: list[bool] = []

    def handle(job: Job, ctx: Any) -> None:
        connection.execute("update jobs set claim_id = 7, locked_until = now() + interval '1 hour'")
        noticed.append(said.wait(5))

    drain = worker(Handler("work", handle), lease=1)
    drain._parts.tools.log.warning = lambda message, **fields: said.set()  # type: ignore[method-assign]
    assert drain.drain(120) == {}
    assert noticed == [True]


def test_a_worker_that_has_claimed_a_lost_job_again_does_not_take_the_old_end_for_the_new(
    connection: Connection, worker: MakeWorker, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    (job_id,) = put(connection)
    again = threading.Event()
    over = threading.Event()

    def handle(job: Job, ctx: Any) -> None:
        if job.attempt == 1:
            expire_leases(connection)
            queue.reap(database, {"work": 8})
            make_due(connection)
            assert again.wait(20)
            over.set()
            return
        again.set()
        assert over.wait(20)
        time.sleep(0.2)

    assert worker(Handler("work", handle), lease=1).drain(120) == {"done": 1}
    assert row(connection, job_id, "status, attempts") == ("done", 2)
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    assert [line["job"] for line in lines if line.get("message", "").startswith("lost lease")] == [job_id]


def test_a_job_does_not_start_unless_its_timeout_fits_and_is_given_back_unused(
    connection: Connection, worker: MakeWorker
) -> None:
    """B82"""
    (long,) = put(connection, kind="long")
    (short,) = put(connection, kind="short")
    drain = worker(Handler("long", fail, timeout=8), Handler("short", lambda job, ctx: None, timeout=0.5))
    assert drain.drain(3) == {"done": 1}
    assert row(connection, long, "status, attempts, locked_until") == ("pending", 0, None)
    assert status(connection, short) == "done"


def test_jobs_that_were_not_started_in_time_are_given_back_unused(connection: Connection, worker: MakeWorker) -> None:
    put(connection, 10)
    drain = worker(Handler("work", lambda job, ctx: time.sleep(0.3), timeout=0.5), threads=2)
    counts = drain.drain(2.2)
    assert 2 <= counts["done"] < 10
    rows = connection.execute("select status, attempts, count(*) from jobs group by 1, 2 order by 1").fetchall()
    assert rows == [("done", 1, counts["done"]), ("pending", 0, 10 - counts["done"])]


def test_without_a_hard_end_a_job_longer_than_the_time_left_runs(connection: Connection, worker: MakeWorker) -> None:
    put(connection)
    assert worker(Handler("work", lambda job, ctx: None, timeout=60)).drain(3, hard=False) == {"done": 1}


def test_an_unknown_kind_waits_a_minute_and_uses_no_attempt(connection: Connection, worker: MakeWorker) -> None:
    """B76"""
    (job_id,) = put(connection, kind="tomorrow")
    drain = worker(Handler("work", fail))
    assert drain.drain(120) == {"unknown": 1}
    waits = "run_at between now() + interval '55 seconds' and now() + interval '61 seconds'"
    assert row(connection, job_id, f"status, attempts, payload, {waits}") == ("pending", 0, {}, True)
    make_due(connection)
    assert drain.drain(120) == {"unknown": 1}


def test_an_unknown_kind_fails_after_a_day(connection: Connection, worker: MakeWorker, told: Told) -> None:
    (job_id,) = put(connection, kind="gone", unknown_since="2020-01-01")
    assert worker(Handler("work", fail)).drain(120) == {"failed": 1}
    assert row(connection, job_id, "status, error_class, last_error") == (
        "failed", "UnknownKind", "no handler for the kind 'gone' in a day",
    )  # fmt: skip
    assert [one[0] for one in told] == [job_id]


def test_a_kind_that_is_known_again_runs(connection: Connection, worker: MakeWorker) -> None:
    (job_id,) = put(connection, unknown_since="2020-01-01")
    worker(Handler("work", lambda job, ctx: None)).drain(120)
    assert row(connection, job_id, "status, unknown_since") == ("done", None)


def test_a_job_that_is_due_within_the_linger_is_waited_for(connection: Connection, worker: MakeWorker) -> None:
    (soon,) = put(connection)
    (later,) = put(connection)
    connection.execute("update jobs set run_at = now() + interval '0.3 seconds' where id = %s", (soon,))
    connection.execute("update jobs set run_at = now() + interval '1 hour' where id = %s", (later,))
    assert worker(Handler("work", lambda job, ctx: None), linger=1).drain(120) == {"done": 1}
    assert (status(connection, soon), status(connection, later)) == ("done", "pending")


def test_without_a_linger_a_job_that_is_not_due_is_left(connection: Connection, worker: MakeWorker) -> None:
    put(connection)
    connection.execute("update jobs set run_at = now() + interval '0.3 seconds'")
    assert worker(Handler("work", lambda job, ctx: None), linger=0).drain(120) == {}


def test_hanging_jobs_at_the_head_of_the_line_do_not_block_the_rest(connection: Connection, worker: MakeWorker) -> None:
    """B41"""
    release = threading.Event()
    put(connection, 8)
    put(connection, 10, kind="quick")
    drain = worker(Handler("work", lambda job, ctx: release.wait(30), timeout=0.3), Handler("quick", lambda job, ctx: None))
    assert drain.drain(120) == {"retried": 8, "done": 10}
    release.set()


def test_one_line_is_written_for_each_attempt_with_its_correlation_id(
    connection: Connection, worker: MakeWorker, capsys: pytest.CaptureFixture[str]
) -> None:
    (job_id,) = put(connection, correlation_id="c-5")
    worker(Handler("work", lambda job, ctx: ctx.log.info("hello"))).drain(120)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["message"], line["job"]) for line in lines if line.get("correlation_id") == "c-5"] == [
        ("hello", job_id), ("job done", job_id),
    ]  # fmt: skip
    metrics = [line for line in lines if "_aws" in line]
    assert [(line["kind"], line["JobsDone"], len(line["JobDuration"])) for line in metrics] == [("work", 1, 1)]


def test_five_thousand_jobs_are_each_run_once(connection: Connection, worker: MakeWorker) -> None:
    ids = put(connection, 5_000)
    seen: list[int] = []
    assert worker(Handler("work", lambda job, ctx: seen.append(job.id))).drain(120) == {"done": 5_000}
    assert sorted(seen) == ids
