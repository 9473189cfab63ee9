"""The life of a job: enqueue, claim, settle, extend, reap."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from tidemill import queue
from tidemill.db import Database, connect
from tidemill.model import NewJob
from tidemill.queue import Settlement, give_back
from tidemill.wire import Connection, alive

from local.postgres import Postgres
from tests.queue.conftest import expire_leases, make_due, put, status, take


def test_a_key_creates_one_job(connection: Connection) -> None:
    first, second = (queue.enqueue(connection, [NewJob("work", key=42)], limits={})[0] for _ in range(2))
    assert (first.created, second.created) == (True, False)
    assert second == (first.id, False, "pending")


def test_numbers_and_strings_are_one_key_space(connection: Connection) -> None:
    first, second = queue.enqueue(connection, [NewJob("work", key=42), NewJob("work", key="42")], limits={})
    assert first.id == second.id


def test_kinds_have_keys_of_their_own(connection: Connection) -> None:
    first, second = queue.enqueue(connection, [NewJob("work", key="a"), NewJob("other", key="a")], limits={})
    assert first.created and second.created


def test_enqueue_says_how_the_holder_of_a_key_stands(connection: Connection) -> None:
    job_id = put(connection, key="a", status="done")[0]
    assert queue.enqueue(connection, [NewJob("work", key="a")], limits={}) == [(job_id, False, "done")]


def test_enqueue_joins_the_transaction_of_its_caller(connection: Connection) -> None:
    with pytest.raises(RuntimeError), connection.transaction():
        queue.enqueue(connection, [NewJob("work")], limits={})
        raise RuntimeError
    assert connection.execute("select count(*) from jobs").fetchone() == (0,)


def test_parallel_enqueues_of_the_same_keys_reversed_make_each_once(database_url: str, connection: Connection) -> None:
    """B44"""
    jobs = [NewJob("work", key=number) for number in range(20)]
    created: list[int] = []

    def enqueue(order: list[NewJob]) -> None:
        with connect(database_url) as own:
            created.extend(one.id for one in queue.enqueue(own, order, limits={}) if one.created)

    threads = [threading.Thread(target=enqueue, args=(jobs[::step],)) for step in (1, -1) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(created) == len(set(created)) == 20


@pytest.mark.parametrize(
    ("job", "field"),
    [
        (NewJob(""), "kind"),
        (NewJob("k\0"), "kind"),
        (NewJob("k", {"a": "\ud800"}), "payload"),
        (NewJob("k", {"a": "\0"}), "payload"),
        (NewJob("k", {"a": float("nan")}), "payload"),
        (NewJob("k", object()), "payload"),
        (NewJob("k", key=True), "key"),
        (NewJob("k", key=1.5), "key"),  # type: ignore[arg-type]
        (NewJob("k", run_at=datetime(2027, 1, 1)), "run_at"),
        (NewJob("k", run_at=datetime(2027, 1, 1, tzinfo=UTC), delay=5), "run_at and delay"),
        (NewJob("k", delay=-1), "delay"),
        (NewJob("k", delay=float("inf")), "delay"),
        (NewJob("k", max_attempts=0), "max_attempts"),
        (NewJob("k", tenant="t" * 201), "tenant"),
        (NewJob("k", priority=40_000), "priority"),
    ],
)
def test_a_job_that_cannot_be_stored_is_refused_by_the_name_of_the_field(
    connection: Connection, job: NewJob, field: str
) -> None:
    with pytest.raises(ValueError, match=field):
        queue.enqueue(connection, [NewJob("fine"), job], limits={})
    assert connection.execute("select count(*) from jobs").fetchone() == (0,)


def test_a_long_key_is_kept_as_its_sha256(connection: Connection) -> None:
    """B32"""
    first, second = (queue.enqueue(connection, [NewJob("work", key="é" * 251)], limits={})[0] for _ in range(2))
    assert first.id == second.id
    row = connection.execute("select key from jobs").fetchone()
    assert row is not None and len(row[0]) == 64


def test_a_delayed_job_is_not_claimed_before_its_time(connection: Connection, database: Database) -> None:
    queue.enqueue(connection, [NewJob("work", delay=timedelta(hours=1))], limits={})
    assert take(database).jobs == []
    make_due(connection)
    assert len(take(database).jobs) == 1


def test_thirty_parallel_claims_on_twenty_jobs_take_each_exactly_once(database_url: str, connection: Connection) -> None:
    ids = put(connection, 20)
    taken: list[int] = []
    barrier = threading.Barrier(30)

    def claim() -> None:
        database = Database(database_url)
        database.connection()
        barrier.wait()
        taken.extend(job.id for job in take(database, 1).jobs)
        database.close()

    threads = [threading.Thread(target=claim) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == ids


def test_a_claim_uses_an_attempt_and_mints_a_fence(connection: Connection, database: Database) -> None:
    put(connection, 2)
    first, second = take(database, 1).jobs + take(database, 1).jobs
    assert (first.attempt, second.attempt) == (1, 1)
    assert first.claim_id != second.claim_id


def test_done_jobs_are_settled_with_the_next_claim(connection: Connection, database: Database) -> None:
    put(connection, 2)
    (first,) = take(database, 1).jobs
    claim = take(database, 1, done=((first.id, first.claim_id),))
    assert (status(connection, first.id), len(claim.jobs), claim.lost) == ("done", 1, [])


def test_a_stale_worker_cannot_settle(connection: Connection, database: Database) -> None:
    """B35"""
    put(connection)
    (stale,) = take(database).jobs
    expire_leases(connection)
    queue.reap(database, {"work": 8})
    make_due(connection)
    (fresh,) = take(database).jobs
    assert take(database, done=((stale.id, stale.claim_id),)).lost == [stale.id]
    assert queue.settle(database, [Settlement(stale.id, stale.claim_id, "failed", error_class="X", error="x")]) == set()
    assert queue.extend(database, [stale], lease=60, holder=1) == set()
    assert status(connection, fresh.id) == "running"
    assert queue.settle(database, [Settlement(fresh.id, fresh.claim_id, "done", result='{"n": 1}')]) == {fresh.id}


def test_a_worker_whose_lease_ran_out_unnoticed_may_still_settle(connection: Connection, database: Database) -> None:
    """B35, second case: nobody else has the job, so the work that was done counts."""
    put(connection)
    (job,) = take(database).jobs
    expire_leases(connection)
    assert queue.settle(database, [Settlement(job.id, job.claim_id, "done")]) == {job.id}


def test_the_reaper_leaves_alone_what_was_settled_meanwhile(
    connection: Connection, database: Database, database_url: str
) -> None:
    """B34: the reaper waits for no lock, and judges the row that it has locked."""
    put(connection)
    (job,) = take(database).jobs
    expire_leases(connection)
    with connect(database_url) as other, other.transaction():
        other.execute("update jobs set status = 'done', finished_at = now() where id = %s", (job.id,))
        assert queue.reap(database, {"work": 8}) == []
    assert queue.reap(database, {"work": 8}) == []
    assert status(connection, job.id) == "done"


def test_an_expired_lease_comes_back_with_backoff(connection: Connection, database: Database) -> None:
    put(connection)
    take(database)
    assert queue.reap(database, {"work": 8}) == []
    expire_leases(connection)
    (reaped,) = queue.reap(database, {"work": 8})
    assert (reaped.status, reaped.error) == ("pending", "lease expired 1 times")
    row = connection.execute(
        "select run_at between now() + interval '7 seconds' and now() + interval '10 seconds', locked_until from jobs"
    ).fetchone()
    assert row == (True, None)


def test_the_last_expired_lease_ends_the_job(connection: Connection, database: Database) -> None:
    """B36"""
    (job_id,) = put(connection, max_attempts=3)
    for _ in range(3):
        make_due(connection)
        assert len(take(database).jobs) == 1
        expire_leases(connection)
        (reaped,) = queue.reap(database, {"work": 8})
    assert (reaped.status, reaped.error) == ("failed", "lease expired 3 times")
    assert connection.execute("select error from job_errors where job_id = %s order by id", (job_id,)).fetchall() == [
        ("lease expired 1 times",), ("lease expired 2 times",), ("lease expired 3 times",),
    ]  # fmt: skip


def test_an_expired_lease_of_an_unknown_kind_uses_no_attempt(connection: Connection, database: Database) -> None:
    put(connection)
    take(database)
    expire_leases(connection)
    (reaped,) = queue.reap(database, {})
    assert (reaped.status, reaped.attempts) == ("pending", 0)


def test_a_job_that_is_given_back_loses_no_attempt(connection: Connection, database: Database) -> None:
    put(connection)
    (job,) = take(database).jobs
    queue.settle(database, [give_back(job)])
    (again,) = take(database).jobs
    assert again.attempt == 1


def test_an_extended_lease_does_not_expire(connection: Connection, database: Database) -> None:
    put(connection)
    (job,) = take(database, lease=0).jobs
    assert queue.extend(database, [job], lease=60, holder=1) == {job.id}
    assert queue.reap(database, {"work": 8}) == []


def test_two_who_settle_and_reap_in_opposite_orders_do_not_deadlock(connection: Connection, database_url: str) -> None:
    """B44"""
    put(connection, 100)
    main = Database(database_url)
    jobs = take(main, 100).jobs
    expire_leases(connection)
    faults: list[BaseException] = []

    def settle(order: int) -> None:
        database = Database(database_url)
        try:
            for _ in range(20):
                queue.settle(database, [give_back(job) for job in jobs[::order]])
                queue.reap(database, {"work": 8})
                connection_jobs = [Settlement(job.id, job.claim_id, "done") for job in jobs[::order]]
                queue.settle(database, connection_jobs)
        except BaseException as error:
            faults.append(error)
        database.close()

    threads = [threading.Thread(target=settle, args=(order,)) for order in (1, -1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    main.close()
    assert faults == []


def test_a_finished_row_is_a_dead_letter_only_when_it_failed(connection: Connection, database: Database) -> None:
    _, failed = put(connection, 2)
    first, second = take(database).jobs
    queue.settle(database, [
        Settlement(first.id, first.claim_id, "done"),
        Settlement(second.id, second.claim_id, "failed", error_class="E", error="no"),
    ])  # fmt: skip
    assert connection.execute("select id, job_type, attempts, last_error, error_class from dead_letters").fetchall() == [
        (failed, "work", 1, "no", "E")
    ]


def test_other_languages_enqueue_with_a_plain_insert(connection: Connection, database: Database) -> None:
    for _ in range(2):
        connection.execute("insert into jobs (kind, payload, key) values ('work', '{\"a\": 1}', 'k') on conflict do nothing")
    assert [job.payload for job in take(database).jobs] == [{"a": 1}]


def test_a_claim_does_not_wait_for_a_row_that_somebody_holds(
    connection: Connection, database: Database, database_url: str
) -> None:
    held, free = put(connection, 2)
    with connect(database_url) as other, other.transaction():
        other.execute("select from jobs where id = %s for update", (held,))
        claimed: list[int] = []
        thread = threading.Thread(target=lambda: claimed.extend(job.id for job in take(database).jobs))
        thread.start()
        thread.join(20)
        waited = thread.is_alive()
    thread.join()
    assert (claimed, waited) == ([free], False)


def test_a_connection_whose_server_has_hung_up_is_known_to_be_dead(postgres: Postgres, connection: Connection) -> None:
    """B77. On the server itself: a pooler keeps the client's connection when it loses the server's."""
    database = Database(postgres.url(connection.info.dbname))
    old = database.connection()
    connection.execute("select pg_terminate_backend(%s)", (old.info.backend_pid,))
    deadline = time.monotonic() + 10
    while alive(old) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(old)
    assert database.connection() is not old and alive(database.connection())
    database.close()
