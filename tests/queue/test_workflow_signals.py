"""Signals: the first of a name counts, whoever waits gets it at once, and none falls between two transactions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tidemill.db import connect
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.wire import Connection, statement
from tidemill.worker import Worker

from tests.queue.conftest import make_due, put
from tests.queue.test_worker import row
from tests.queue.workflows import history, pass_time, send

MakeWorker = Callable[..., Worker]


def taken(job: Job, ctx: Any) -> Any:
    return ctx.wait_for("taken:17", 900)


def test_a_signal_makes_the_waiting_job_due_at_once(connection: Connection, worker: MakeWorker) -> None:
    (job_id,) = put(connection)
    drain = worker(Handler("work", taken))
    assert drain.drain(120) == {"suspended": 1}
    assert row(connection, job_id, "run_at > now() + interval '14 minutes'") == (True,)
    send(connection, "taken:18", '"other"')
    assert row(connection, job_id, "run_at > now()") == (True,)
    send(connection, "taken:17", '{"by": "Ann"}')
    assert row(connection, job_id, "run_at <= now()") == (True,)
    assert drain.drain(120) == {"done": 1}
    assert row(connection, job_id, "result") == ({"by": "Ann"},)


def test_a_signal_that_came_before_anybody_waited_is_there(connection: Connection, worker: MakeWorker) -> None:
    send(connection, "taken:17", '"Ann"')
    put(connection)
    assert worker(Handler("work", taken)).drain(120) == {"done": 1}
    assert row(connection, 1, "result") == ("Ann",)


def test_without_a_signal_the_wait_ends_with_none_and_that_is_decided(connection: Connection, worker: MakeWorker) -> None:
    (job_id,) = put(connection)
    seen: list[Any] = []

    def flow(job: Job, ctx: Any) -> None:
        seen.append(taken(job, ctx))
        if len(seen) == 1:
            raise ValueError("later")

    drain = worker(Handler("work", flow))
    drain.drain(120), pass_time(connection)
    assert (drain.drain(120), history(connection, job_id)) == ({"retried": 1}, [(1, "wait_for", "taken:17", None)])
    send(connection, "taken:17", '"too late"')
    make_due(connection)
    assert (drain.drain(120), seen) == ({"done": 1}, [None, None])


def test_a_signal_that_came_in_time_counts_however_late_the_job_goes_on(connection: Connection, worker: MakeWorker) -> None:
    put(connection)
    drain = worker(Handler("work", taken))
    drain.drain(120)
    send(connection, "taken:17", '"Ann"')
    pass_time(connection)
    drain.drain(120)
    assert row(connection, 1, "result") == ("Ann",)


def test_the_first_signal_of_a_name_counts(connection: Connection, worker: MakeWorker) -> None:
    send(connection, "taken:17", '"first"')
    send(connection, "taken:17", '"second"')
    put(connection)
    worker(Handler("work", lambda job, ctx: [taken(job, ctx), taken(job, ctx)])).drain(120)
    assert row(connection, 1, "result") == (["first", "first"],)


def test_all_who_wait_for_a_name_get_it(connection: Connection, worker: MakeWorker) -> None:
    put(connection, 3)
    drain = worker(Handler("work", taken))
    assert drain.drain(120) == {"suspended": 3}
    send(connection, "taken:17", '"Ann"')
    assert drain.drain(120) == {"done": 3}


def test_one_who_wakes_early_waits_on_and_still_hears_the_signal(connection: Connection, worker: MakeWorker) -> None:
    (job_id,) = put(connection)
    drain = worker(Handler("work", taken))
    drain.drain(120), make_due(connection)
    assert drain.drain(120) == {"suspended": 1}
    assert row(connection, job_id, "run_at > now() + interval '14 minutes'") == (True,)
    send(connection, "taken:17", '"Ann"')
    assert drain.drain(120) == {"done": 1}


def test_a_signal_between_the_wait_and_the_end_of_the_attempt_is_not_slept_through(
    connection: Connection, worker: MakeWorker
) -> None:
    """The job still runs when the signal comes: whoever settles it must leave the time that the signal has set."""
    put(connection)
    sent: list[bool] = []

    def flow(job: Job, ctx: Any) -> Any:
        try:
            return taken(job, ctx)
        finally:
            if not sent:
                send(connection, "taken:17", '"Ann"')
                sent.append(True)

    assert worker(Handler("work", flow), linger=1).drain(120) == {"suspended": 1, "done": 1}


def test_a_signal_at_the_instant_in_which_a_job_begins_to_wait_is_not_slept_through(
    database_url: str, connection: Connection, worker: MakeWorker
) -> None:
    """Either side's transaction is open when the other's statement begins, so that no snapshot has the other's row."""
    start = threading.Barrier(2)

    def flow(job: Job, ctx: Any) -> Any:
        ctx.step("together", lambda: start.wait() >= 0)
        return ctx.wait_for(f"go:{job.id}", 900)

    drain = worker(Handler("work", flow))
    with connect(database_url) as sender:
        for _ in range(40):
            (job_id,) = put(connection)
            thread = threading.Thread(target=lambda: drain.drain(120))
            thread.start()
            start.wait()
            send(sender, f"go:{job_id}", "1")
            thread.join()
    assert connection.execute("select count(*) from jobs where run_at > now()").fetchone() == (0,)
    drain.drain(120)
    assert connection.execute("select status, result, count(*) from jobs group by 1, 2").fetchall() == [("done", 1, 40)]


def test_a_signal_that_is_not_committed_yet_makes_the_one_who_begins_to_wait_wait_for_it(
    database_url: str, connection: Connection, worker: MakeWorker
) -> None:
    put(connection)
    with connect(database_url) as sender:
        thread = threading.Thread(target=lambda: worker(Handler("work", taken)).drain(120))
        with sender.transaction():
            send(sender, "taken:17", '"Ann"')
            thread.start()
            thread.join(0.5)
            assert row(connection, 1, "status") == ("running",)
        thread.join()
    assert row(connection, 1, "status, result") == ("done", "Ann")


def test_a_wait_that_is_not_committed_yet_makes_the_signal_wait_for_it(
    database_url: str, connection: Connection
) -> None:
    put(connection)
    connection.execute("update jobs set status = 'running', claim_id = 7, run_at = now() + interval '15 minutes'")
    with connect(database_url) as waiter, connect(database_url) as sender:
        thread = threading.Thread(target=send, args=(sender, "taken:17"))
        with waiter.transaction():
            waiter.execute(statement("lock_signal"), {"name": "taken:17"})  # type: ignore[call-overload]
            thread.start()
            values = {"job": 1, "claim": 7, "position": 1, "name": "taken:17", "seconds": 900.0}
            assert waiter.execute(statement("step_wait"), values).fetchall() == [(False, None)]  # type: ignore[call-overload]
            thread.join(0.3)
            assert thread.is_alive()
        thread.join()
    assert row(connection, 1, "run_at <= now()") == (True,)


def test_a_finished_job_is_woken_by_no_signal(connection: Connection, worker: MakeWorker) -> None:
    put(connection)
    worker(Handler("work", taken)).drain(120)
    connection.execute("update jobs set status = 'discarded', finished_at = now()")
    before = row(connection, 1, "run_at")
    send(connection, "taken:17")
    assert row(connection, 1, "run_at") == before
