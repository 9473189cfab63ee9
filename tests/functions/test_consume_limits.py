"""Limits, suspects and time hold in the consume function as they do in a drain."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from tidemill.errors import RateLimited
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.wire import Connection, run, statement

from tests.functions.consuming import Hiding, column, event, function, put_out, reported
from tests.functions.relaying import Context
from tests.queue.conftest import put


class Counting:
    """A handler's function that knows how many of it run at once, over all functions that share it."""

    def __init__(self) -> None:
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()

    def __call__(self, job: Job, ctx: Any) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(0.05)
        with self._lock:
            self._now -= 1


def limited(call: Any, size: int = 2) -> Handler:
    return Handler("work", call, limit_name="mail", limit_size=size)


def test_only_as_many_run_as_there_are_places_and_the_others_come_again_later(
    connection: Connection, database_url: str
) -> None:
    ids = put_out(connection, 6, limit_name="mail")
    counting, queue = Counting(), Hiding()
    consume = function(database_url, limited(counting), queue=queue)
    again = reported(consume.handle(event(*ids), None))
    assert (len(again), counting.most) == (4, 2)
    assert column(connection, "status, attempts").count(("pending", 0)) == 4
    assert all(7 <= seconds <= 11 for seconds in queue.hidden.values()) and len(queue.hidden) == 4
    assert connection.execute("select count(*) from places where holder is not null").fetchone() == (0,)
    left = [job for (job,) in column(connection, "id", "status = 'pending'")]
    assert len(reported(consume.handle(event(*left), None))) == 2


def test_two_functions_at_once_never_exceed_a_limit(connection: Connection, database_url: str) -> None:
    ids = put_out(connection, 12, limit_name="mail")
    counting = Counting()
    functions = [function(database_url, limited(counting)) for _ in range(3)]
    functions[0].handle(event(), None)
    threads = [threading.Thread(target=one.handle, args=(event(*ids), None)) for one in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert 1 <= counting.most <= 2


def test_places_that_a_drain_holds_are_not_free(connection: Connection, database_url: str) -> None:
    [job] = put_out(connection, limit_name="mail")
    consume = function(database_url, limited(Counting(), 1))
    connection.execute("insert into limits (name, size) values ('mail', 1)")
    connection.execute("insert into places values ('mail', 0, 9, now() + interval '1 minute')")
    assert reported(consume.handle(event(job), None)) == ["m0"]
    assert column(connection, "status, attempts") == [("pending", 0)]


def test_nothing_starts_under_a_limit_that_is_paused(connection: Connection, database_url: str) -> None:
    ids = put_out(connection, 2, limit_name="mail")
    consume = function(database_url, limited(Counting()))
    connection.execute("insert into limits (name, size, paused_until) values ('mail', 2, now() + interval '1 minute')")
    assert reported(consume.handle(event(*ids), None)) == ["m0", "m1"]
    assert column(connection, "status, attempts") == [("pending", 0)] * 2


def test_a_rate_limit_pauses_the_whole_limit(connection: Connection, database_url: str) -> None:
    ids = put_out(connection, 3, limit_name="mail")

    def handle(job: Job, ctx: Any) -> None:
        raise RateLimited(60)

    assert len(reported(function(database_url, limited(handle, 1)).handle(event(*ids), None))) == 3
    paused = "paused_until between now() + interval '59 seconds' and now() + interval '75 seconds'"
    assert connection.execute(f"select {paused} from limits").fetchone() == (True,)  # type: ignore[arg-type]
    assert column(connection, "attempts") == [(0,)] * 3


def test_without_a_place_on_its_last_delivery_a_job_goes_back_to_its_line(connection: Connection, database_url: str) -> None:
    ids = put_out(connection, 2, limit_name="mail")
    consume = function(database_url, limited(Counting(), 1))
    assert reported(consume.handle(event(*ids, receives=5), None)) == []
    waits = "run_at > now() + interval '8 seconds'"
    assert column(connection, f"sent_at, attempts, {waits}", "status = 'pending'") == [(None, 0, True)]


def test_a_job_under_another_limit_than_its_handlers_is_given_that_and_sent_anew(
    connection: Connection, database_url: str
) -> None:
    [job] = put_out(connection)
    assert reported(function(database_url, limited(Counting())).handle(event(job), None)) == []
    assert column(connection, "status, limit_name, sent_at, attempts") == [("pending", "mail", None, 0)]


@pytest.mark.parametrize(
    ("columns", "claimed"),
    [
        ({}, True),
        ({"sent_at": None}, False),
        ({"run_at": "2999-01-01"}, False),
        ({"status": "running", "claim_id": 1}, False),
        ({"finished_at": "2027-01-01"}, False),
        ({"limit_name": "mail"}, True),
        ({"limit_name": "paused"}, False),
        ({"limit_name": "placeless"}, False),
        ({"limit_name": "expiring"}, False),
    ],
)
def test_what_has_changed_since_it_was_looked_at_is_not_claimed(
    connection: Connection, database_url: str, columns: dict[str, Any], claimed: bool
) -> None:
    [job] = put(connection, **{"sent_at": "2026-01-01", "run_at": "2026-01-01", **columns})
    soon = "now() + interval '1 minute'"
    connection.execute("insert into limits select unnest(array['mail', 'paused', 'placeless', 'expiring']), 1")
    connection.execute(f"update limits set paused_until = {soon} where name = 'paused'")  # type: ignore[arg-type]
    connection.execute(
        f"insert into places values ('mail', 0, 7, {soon}), ('paused', 0, 7, {soon}), ('placeless', 0, 8, {soon}),"  # type: ignore[arg-type]
        " ('expiring', 0, 7, now())"
    )
    parameters = {"ids": [job], "claim_id": 9, "lease": 60, "holder": 7, "worker": "test"}
    assert bool(run(connection, statement("consume_claim"), parameters)) == claimed


def test_jobs_that_may_have_killed_their_worker_run_one_after_the_other(connection: Connection, database_url: str) -> None:
    ids = put_out(connection, 3, expiries=1)
    counting = Counting()
    assert reported(function(database_url, Handler("work", counting)).handle(event(*ids), None)) == []
    assert counting.most == 1


def test_no_job_starts_whose_timeout_does_not_fit_into_the_time_left(connection: Connection, database_url: str) -> None:
    ids = put_out(connection, 2)
    consume = function(database_url, Handler("work", Counting(), timeout=30))
    assert reported(consume.handle(event(*ids), Context(20_000, 20_000))) == ["m0", "m1"]
    assert column(connection, "status, attempts, sent_at is not null") == [("pending", 0, True)] * 2
