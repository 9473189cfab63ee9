"""Limits: at most so many jobs of a name at once, over all workers, whatever dies; and pauses that all of them keep."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import psycopg
import pytest
from tidemill import places
from tidemill.db import Database
from tidemill.errors import RateLimited
from tidemill.handlers import Handler
from tidemill.places import Places
from tidemill.wire import Connection
from tidemill.worker import Worker

from tests.conftest import ROOT
from tests.queue.conftest import expire_leases, make_due, put, status
from tests.queue.hooked import Hooked
from tests.queue.test_deaths import child_environment, let_time_pass, run_child

MakeWorker = Callable[..., Worker]


class Gauge:
    """A handler that knows how many of it run at once."""

    def __init__(self, seconds: float = 0.01) -> None:
        self.now = self.most = self.total = 0
        self._seconds = seconds
        self._lock = threading.Lock()

    def __call__(self, job: Any, ctx: Any) -> None:
        with self._lock:
            self.now += 1
            self.total += 1
            self.most = max(self.most, self.now)
        time.sleep(self._seconds)
        with self._lock:
            self.now -= 1


class Losing(Hooked):
    """Loses the connection in place of the first of these statements."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__(url)
        self._name = name
        self._lost = False

    @contextmanager
    def around(self, name: str) -> Iterator[None]:
        if name == self._name and not self._lost:
            self._lost = True
            self.close()
            raise psycopg.OperationalError("connection lost")
        yield


def limited(function: Callable[..., Any], size: int = 3, kind: str = "work", name: str = "mail") -> Handler:
    return Handler(kind, function, limit_name=name, limit_size=size)


def at_once(*workers: Worker) -> dict[str, int]:
    total: dict[str, int] = {}
    lock = threading.Lock()

    def drain(worker: Worker) -> None:
        counts = worker.drain(120)
        with lock:
            for word, count in counts.items():
                total[word] = total.get(word, 0) + count

    threads = [threading.Thread(target=drain, args=(one,)) for one in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return total


def test_two_drains_together_never_run_more_than_the_limit(connection: Connection, worker: MakeWorker) -> None:
    gauge = Gauge()
    put(connection, 60, limit_name="mail")
    total = at_once(worker(limited(gauge), threads=8), worker(limited(gauge), threads=8))
    assert (total["done"], gauge.total, gauge.most) == (60, 60, 3)


def test_a_full_limit_does_not_hold_up_other_work(connection: Connection, worker: MakeWorker) -> None:
    release = threading.Event()
    put(connection, 20, limit_name="mail")
    put(connection, 50, kind="free")
    free: list[int] = []

    def count(job: Any, ctx: Any) -> None:
        free.append(job.id)
        if len(free) == 50:
            release.set()

    drain = worker(limited(lambda job, ctx: release.wait(20), 1), Handler("free", count), threads=4)
    assert drain.drain(120) == {"done": 70}


def test_a_job_of_a_plain_insert_gets_its_handlers_limit(connection: Connection, worker: MakeWorker) -> None:
    gauge = Gauge()
    put(connection, 12)
    counts = worker(limited(gauge, 2), threads=8, linger=3).drain(120)
    assert (counts["done"], counts["relabelled"], gauge.most) == (12, 12, 2)
    assert connection.execute("select distinct limit_name, attempts from jobs").fetchall() == [("mail", 1)]


@pytest.mark.parametrize("label", ["another", "nobody-declared-it"])
def test_a_job_under_a_limit_that_its_handler_no_longer_has_still_runs(
    connection: Connection, worker: MakeWorker, database: Database, label: str
) -> None:
    """A limit was renamed or dropped in the code while jobs waited under it."""
    places.declare(database, {"another": 1})
    (job_id,) = put(connection, limit_name=label)
    worker(Handler("work", lambda job, ctx: None), linger=3).drain(120)
    assert status(connection, job_id) == "done"


def test_a_limit_made_smaller_in_the_code_is_kept_at_once(connection: Connection, worker: MakeWorker) -> None:
    put(connection, 1, limit_name="mail")
    worker(limited(Gauge(), 5)).drain(120)
    gauge = Gauge()
    put(connection, 12, limit_name="mail")
    worker(limited(gauge, 2), threads=8).drain(120)
    assert gauge.most == 2
    assert connection.execute("select size from limits").fetchone() == (2,)


def test_places_of_a_killed_worker_come_back_with_their_lease(
    database_url: str, connection: Connection, database: Database
) -> None:
    """B46"""
    put(connection, 2, kind="hold", limit_name="held", max_attempts=1)
    command = [sys.executable, "-m", "tests.queue.child", database_url]
    child = subprocess.Popen(
        command, cwd=ROOT, env=child_environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    assert child.stderr is not None
    assert [child.stderr.readline()[:10] for _ in range(2)] == ["start hold", "start hold"]
    child.kill()
    child.wait()
    child.stderr.close()
    (job_id,) = put(connection, kind="limited", limit_name="held")
    assert run_child(database_url) == (0, [])  # both places are still leased to the dead
    let_time_pass(connection, database)
    assert run_child(database_url) == (0, [f"start limited {job_id}"])


def test_a_place_whose_lease_ran_out_is_not_revived(connection: Connection, database: Database) -> None:
    places.declare(database, {"mail": 1})
    late, quick = Places(database, 60), Places(database, 60)
    assert late.take({"mail"}, 1) and not quick.take({"mail"}, 1)
    expire_leases(connection)
    assert quick.take({"mail"}, 1)
    assert (late.renew(), late.held()) == ({"mail"}, {})
    assert (quick.renew(), quick.held()) == (set(), {"mail": 1})


def test_places_are_still_held_where_the_database_did_not_answer_their_renewal(connection: Connection) -> None:
    """Else nobody would renew them, and they would be another's while their jobs still run."""
    database = Losing(connection.info.dsn, "places_renew")
    places.declare(database, {"mail": 2})
    mine = Places(database, 60)
    mine.take({"mail"}, 2)
    with pytest.raises(psycopg.OperationalError):
        mine.renew()
    assert (mine.held(), mine.renew(), mine.held()) == ({"mail": 2}, set(), {"mail": 2})
    database.close()


def test_a_pause_that_the_database_did_not_take_loses_no_outcome(
    connection: Connection, database_url: str, worker: MakeWorker
) -> None:
    """The outcomes of a look are kept together, whatever becomes of the pause that one of them asked for."""
    ids = put(connection, 3, limit_name="mail")
    together = threading.Barrier(3)

    def handle(job: Any, ctx: Any) -> None:
        together.wait(10)
        if job.id == ids[0]:
            raise RateLimited(60)

    drain = worker(limited(handle), threads=3)
    drain._parts.__dict__["database"] = Losing(database_url, "limit_pause")
    assert drain.drain(120) == {"done": 2, "snoozed": 1}
    assert [status(connection, one) for one in ids] == ["pending", "done", "done"]
    paused = connection.execute("select paused_until > now() + interval '50 seconds' from limits").fetchone()
    assert paused == (True,)


def test_a_place_whose_lease_ran_out_is_not_revived_also_when_nobody_took_it(
    connection: Connection, database: Database
) -> None:
    places.declare(database, {"mail": 1})
    late = Places(database, 60)
    late.take({"mail"}, 1)
    expire_leases(connection)
    assert (late.renew(), late.held()) == ({"mail"}, {})


def test_a_worker_that_lost_its_places_claims_nothing_under_them(connection: Connection, worker: MakeWorker) -> None:
    """The claim asks the places table, not the worker's memory."""
    gauge = Gauge()
    put(connection, 6, limit_name="mail")

    def rob(job: Any, ctx: Any) -> None:
        gauge(job, ctx)
        connection.execute("update places set holder = 1, locked_until = now() + interval '1 hour'")

    counts = worker(limited(rob, 2), threads=2).drain(120)
    assert counts["done"] <= 2
    assert connection.execute("select count(*) from jobs where status = 'running'").fetchone() == (0,)


def test_a_drain_gives_its_places_back(connection: Connection, worker: MakeWorker) -> None:
    put(connection, 3, limit_name="mail")
    worker(limited(Gauge())).drain(120)
    assert connection.execute("select count(*) from places where holder is not null").fetchone() == (0,)


def test_a_rate_limit_pauses_every_waiting_job_of_its_limit(connection: Connection, worker: MakeWorker) -> None:
    put(connection, 20, limit_name="mail")
    put(connection, 5, kind="free")
    starts: list[int] = []

    def refuse(job: Any, ctx: Any) -> None:
        starts.append(job.id)
        raise RateLimited(60)

    drain = worker(limited(refuse, 2), Handler("free", lambda job, ctx: None), threads=4)
    assert drain.drain(120)["done"] == 5
    assert 1 <= len(starts) <= 2
    paused = "paused_until between now() + interval '59 seconds' and now() + interval '75 seconds'"
    assert connection.execute(f"select {paused} from limits").fetchone() == (True,)  # type: ignore[arg-type]
    assert connection.execute("select distinct status, attempts from jobs where kind = 'work'").fetchall() == [
        ("pending", 0)
    ]
    make_due(connection)
    assert drain.drain(120) == {}
    connection.execute("update limits set paused_until = null")
    assert drain.drain(120)["snoozed"] >= 1


def test_a_longer_pause_is_not_cut_short_by_a_shorter_one(connection: Connection, worker: MakeWorker) -> None:
    put(connection, 2, limit_name="mail")
    waits = iter([600, 5])

    def refuse(job: Any, ctx: Any) -> None:
        raise RateLimited(next(waits))

    worker(limited(refuse, 1), threads=1).drain(120)
    connection.execute("update limits set paused_until = now() + interval '590 seconds'")
    database = Database(connection.info.dsn)
    database.execute("limit_pause", {"name": "mail", "seconds": 5})
    database.close()
    assert connection.execute("select paused_until > now() + interval '500 seconds' from limits").fetchone() == (True,)


def test_a_full_limit_causes_no_spinning_claims(connection: Connection, worker: MakeWorker, database: Database) -> None:
    places.declare(database, {"mail": 1})
    other = Places(database, 60)
    other.take({"mail"}, 1)
    put(connection, 100, limit_name="mail")
    drain = worker(limited(Gauge(), 1))
    counted: list[str] = []

    class Counting(Hooked):
        def around(self, name: str) -> AbstractContextManager[None]:
            counted.append(name)
            return nullcontext()

    drain._parts.__dict__["database"] = Counting(connection.info.dsn)
    assert drain.drain(120) == {}
    assert counted.count("claim_limited") + counted.count("claim") <= 1
    assert len(counted) < 12
