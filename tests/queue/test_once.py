"""The once ledger: an effect under a key happens once, whatever dies, whoever comes second."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from psycopg.rows import dict_row
from tidemill.db import Connection, connect
from tidemill.errors import InProgress, KeyReused, PermanentError
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.once import call_once, idempotency_key, once
from tidemill.worker import Worker

from tests.queue.conftest import Told, expire_leases, make_due, put, status


@pytest.fixture(autouse=True)
def effects(connection: Connection) -> None:
    connection.execute("create table effects (name text)")


def act(connection: Connection, key: object = "k", request: object = None, result: object = None) -> tuple[bool, Any]:
    """An effect under a key; whether it was made, and what the ledger then says."""
    with once(connection, "pay", key, request) as entry:
        if entry.first:
            connection.execute("insert into effects values ('paid')")
            entry.result = result
        first = entry.first
    return first, entry.result


def count(connection: Connection, table: str = "effects") -> int:
    [(number,)] = connection.execute(f"select count(*) from {table}").fetchall()  # type: ignore[arg-type]
    return int(number)


def running(connection: Connection, kind: str = "pay", claim_id: int = 7) -> Job:
    """A job that is being run, and its lease holds."""
    [job_id] = put(connection, kind=kind, status="running", claim_id=claim_id, locked_until="infinity", attempts=1)
    return Job(job_id, kind, {}, 1, None, None, None, None, "", claim_id=claim_id)


def call(connection: Connection, job: Job, function: Callable[[str], Any] = str, key: object = "k", **more: Any) -> Any:
    return call_once(connection, job, key, function, seconds=60, **more)


# once


def test_the_second_run_skips_the_block_and_gets_the_recorded_result(connection: Connection) -> None:
    assert act(connection, result={"paid": 7}) == (True, {"paid": 7})
    assert act(connection, result={"paid": 8}) == (False, {"paid": 7})
    assert count(connection) == 1


def test_a_row_says_what_has_happened(connection: Connection) -> None:
    act(connection, key=42, result=[1])
    row = connection.execute(
        "select job_type, idempotency_key, request_hash, result, completed_at is not null, locked_until from job_executions"
    ).fetchall()
    assert row == [("pay", "42", None, [1], True, None)]


def test_the_result_is_what_json_makes_of_it_on_the_first_run_already(connection: Connection) -> None:
    expected = {"1": [1, 2], "half": 0.5}
    assert act(connection, result={1: (1, 2), "half": 0.5}) == (True, expected)
    assert act(connection) == (False, expected)


def test_what_a_block_sets_that_was_not_to_act_is_not_believed(connection: Connection) -> None:
    act(connection, result=1)
    with once(connection, "pay", "k") as entry:
        entry.result = 2
    assert entry.result == 1


def test_a_block_that_raises_leaves_neither_effect_nor_record(connection: Connection) -> None:
    with pytest.raises(ZeroDivisionError), once(connection, "pay", "k"):
        connection.execute("insert into effects values ('paid')")
        raise ZeroDivisionError
    assert (count(connection), count(connection, "job_executions")) == (0, 0)
    assert act(connection)[0]


def test_a_key_belongs_to_its_job_type(connection: Connection) -> None:
    act(connection)
    with once(connection, "refund", "k") as entry:
        assert entry.first


def test_numbers_and_texts_are_one_key_space_and_a_long_key_fits(connection: Connection) -> None:
    assert [act(connection, key)[0] for key in (42, "42", "x" * 3000, "x" * 3000)] == [True, False, True, False]


@pytest.mark.parametrize("key", [None, "", 1.5, True, ["k"]])
def test_what_is_no_key_is_refused(connection: Connection, key: object) -> None:
    with pytest.raises(ValueError, match="key must"):
        act(connection, key)


def test_the_same_key_with_another_request_is_an_error_that_names_the_key(connection: Connection) -> None:
    """B99"""
    act(connection, "invoice:1", {"amount": 5, "to": "a"})
    assert act(connection, "invoice:1", {"to": "a", "amount": 5}) == (False, None)
    with pytest.raises(KeyReused, match="'invoice:1'") as caught:
        act(connection, "invoice:1", {"amount": 6, "to": "a"})
    assert isinstance(caught.value, PermanentError)
    assert count(connection) == 1


def test_no_request_is_not_compared(connection: Connection) -> None:
    act(connection, "a", {"amount": 5})
    act(connection, "b")
    assert (act(connection, "a")[0], act(connection, "b", {"amount": 5})[0]) == (False, False)


@pytest.mark.parametrize("request_", [0, "", [], {}, False])
def test_an_empty_request_is_one(connection: Connection, request_: object) -> None:
    act(connection, "k", request_)
    with pytest.raises(KeyReused):
        act(connection, "k", "another")


def test_a_request_that_is_not_json_is_refused_by_name(connection: Connection) -> None:
    with pytest.raises(ValueError, match="request of the key 'k' must be JSON"):
        act(connection, "k", {1, 2})


@pytest.mark.parametrize("result", [object(), float("nan"), "\0"])
def test_a_result_that_is_not_json_undoes_the_effect_and_names_the_key(connection: Connection, result: object) -> None:
    """B99"""
    with pytest.raises(PermanentError, match="under the key 'k'"):
        act(connection, result=result)
    assert (count(connection), count(connection, "job_executions")) == (0, 0)


def test_it_joins_the_transaction_that_is_open(connection: Connection) -> None:
    with pytest.raises(ZeroDivisionError), connection.transaction():
        assert act(connection)[0]
        raise ZeroDivisionError
    assert (count(connection), count(connection, "job_executions")) == (0, 0)


def test_rows_of_the_handlers_own_making_are_no_trouble(database_url: str) -> None:
    with connect(database_url) as connection:
        connection.row_factory = dict_row  # type: ignore[assignment]
        assert [act(connection, result=1)[0], act(connection)] == [True, (False, 1)]


@pytest.mark.parametrize("commits", [True, False])
def test_of_two_at_once_the_second_waits_for_the_first(connection: Connection, database_url: str, commits: bool) -> None:
    """It skips where the first committed, and acts where the first rolled back."""
    second: list[bool] = []

    def other() -> None:
        with connect(database_url) as own:
            second.append(act(own)[0])

    thread = threading.Thread(target=other)
    try:
        with once(connection, "pay", "k"):
            thread.start()
            waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
            with connect(database_url) as watch:
                while watch.execute(waiting).fetchone() != (1,):
                    pass
            assert second == []
            connection.execute("insert into effects values ('paid')")
            if not commits:
                raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    thread.join(10)
    assert second == [not commits]
    assert count(connection) == 1


# call_once


def test_the_function_gets_the_same_opaque_key_each_time_and_is_called_once(connection: Connection) -> None:
    job = running(connection)
    seen: list[str] = []

    def function(key: str) -> dict[str, int]:
        seen.append(key)
        return {"receipt": 9}

    assert call(connection, job, function) == {"receipt": 9}
    assert call(connection, running(connection), function) == {"receipt": 9}
    assert seen == [idempotency_key("pay", "k")] == [str(uuid.UUID(seen[0]))]


def test_keys_for_the_provider_differ_by_kind_and_key() -> None:
    keys = {idempotency_key(*one) for one in [("a", "b"), ("a", "c"), ("b", "b"), ("a\0b", ""), ("a", "\0b"), ("a", "b, c")]}
    assert len(keys) == 6


def test_what_the_function_raises_is_not_recorded(connection: Connection) -> None:
    """B99"""
    job = running(connection)

    def fail(key: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        call(connection, job, fail)
    assert count(connection, "job_executions") == 0
    assert call(connection, running(connection), lambda key: "sent") == "sent"


def test_a_result_that_is_not_json_is_not_taken_for_success(connection: Connection) -> None:
    """B99"""
    with pytest.raises(PermanentError, match="under the key 'k' cannot be stored as JSON"):
        call(connection, running(connection), lambda key: object())
    assert count(connection, "job_executions") == 0


def test_while_it_runs_it_is_in_progress_for_other_jobs(connection: Connection, database_url: str) -> None:
    """B99: so also where the second job has a block on its own transaction."""

    def look(key: str) -> str:
        with connect(database_url) as other:
            with pytest.raises(InProgress, match="'k'"):
                call(other, running(other))
            with pytest.raises(InProgress):
                act(other)
        return "sent"

    assert call(connection, running(connection), look) == "sent"


def test_in_progress_with_another_request_is_the_keys_error(connection: Connection, database_url: str) -> None:
    def look(key: str) -> None:
        with connect(database_url) as other, pytest.raises(KeyReused):
            call(other, running(other), request=2)

    call(connection, running(connection), look, request=1)


def die(connection: Connection, job: Job) -> None:
    """An attempt that ended in the middle, and recorded nothing."""
    with pytest.raises(SystemExit):
        call_once(_Closing(connection), job, "k", lambda key: exit(), seconds=60)  # type: ignore[arg-type]
    assert count(connection, "job_executions") == 1


class _Closing:
    """Does one statement, and no more."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.info = connection.info
        self._left = 1

    def cursor(self, **more: Any) -> Any:
        if not self._left:
            import psycopg

            raise psycopg.OperationalError("gone")
        self._left -= 1
        return self._connection.cursor(**more)


def test_another_attempt_of_the_same_job_goes_on_at_once(connection: Connection) -> None:
    job = running(connection)
    die(connection, job)
    assert call(connection, job._replace(claim_id=8), lambda key: "sent") == "sent"


def test_another_job_goes_on_when_the_lease_of_the_first_is_over(connection: Connection) -> None:
    """B99"""
    die(connection, running(connection))
    other = running(connection, claim_id=9)
    with pytest.raises(InProgress):
        call(connection, other)
    connection.execute("update jobs set locked_until = now() where claim_id = 7")
    assert call(connection, other, lambda key: "sent") == "sent"


@pytest.mark.parametrize("change", ["status = 'failed'", "claim_id = 8"])
def test_another_job_goes_on_when_the_first_has_lost_its_claim(connection: Connection, change: str) -> None:
    die(connection, running(connection))
    connection.execute(f"update jobs set {change}")  # type: ignore[arg-type]
    assert call(connection, running(connection, claim_id=9), lambda key: "sent") == "sent"


def test_in_progress_is_over_with_the_time_that_the_attempt_had(connection: Connection) -> None:
    die(connection, running(connection))
    connection.execute("update job_executions set locked_until = now() - interval '1 second'")
    assert call(connection, running(connection, claim_id=9), lambda key: "sent") == "sent"


def test_an_attempt_that_was_overtaken_finds_what_the_other_recorded(connection: Connection, database_url: str) -> None:
    first = running(connection)

    def overtaken(key: str) -> str:
        with connect(database_url) as other:
            assert call(other, first._replace(claim_id=8), lambda key: "the other's") == "the other's"
        return "mine"

    assert call(connection, first, overtaken) == "the other's"


def test_an_attempt_that_failed_late_does_not_forget_what_another_is_at(connection: Connection, database_url: str) -> None:
    first = running(connection)

    def overtaken(key: str) -> str:
        with connect(database_url) as other:
            die(other, first._replace(claim_id=8))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        call(connection, first, overtaken)
    assert connection.execute("select claim_id from job_executions").fetchall() == [(8,)]


def test_what_happened_is_recorded_even_where_the_entry_is_gone(connection: Connection) -> None:
    def forgotten(key: str) -> str:
        connection.execute("delete from job_executions")
        return "sent"

    assert call(connection, running(connection), forgotten) == "sent"
    assert call(connection, running(connection), lambda key: "again") == "sent"


def test_it_is_refused_in_an_open_transaction(connection: Connection) -> None:
    with connection.transaction(), pytest.raises(PermanentError, match="open transaction"):
        call(connection, running(connection))


# In a drain


def test_a_drain_runs_an_effect_once_for_two_jobs(connection: Connection, worker: Callable[..., Worker]) -> None:
    put(connection, 2)

    def handle(job: Job, ctx: Any) -> Any:
        with ctx.once("k") as entry:
            if entry.first:
                ctx.connection.execute("insert into effects values ('paid')")
                entry.result = "paid"
        return entry.result

    assert worker(Handler("work", handle)).drain(120) == {"done": 2}
    assert connection.execute("select distinct result from jobs").fetchall() == [("paid",)]
    assert (count(connection), connection.execute("select job_type from job_executions").fetchall()) == (1, [("work",)])


def test_once_can_be_given_a_connection(database_url: str, connection: Connection, worker: Callable[..., Worker]) -> None:
    put(connection)

    def handle(job: Job, ctx: Any) -> None:
        with connect(database_url) as own, ctx.once("k", connection=own) as entry:
            own.execute("insert into effects values ('paid')")
            assert entry.first
            assert ctx.connection.execute("select count(*) from effects").fetchone() == (0,)

    assert worker(Handler("work", handle)).drain(120) == {"done": 1}


def test_a_reused_key_fails_the_job_at_once(connection: Connection, worker: Callable[..., Worker], told: Told) -> None:
    put(connection, payload='{"amount": 1}')
    put(connection, payload='{"amount": 2}')

    def handle(job: Job, ctx: Any) -> None:
        with ctx.once("invoice:1", request=job.payload):
            pass

    assert worker(Handler("work", handle), threads=1).drain(120) == {"done": 1, "failed": 1}
    assert [error_class for _, error_class, _ in told] == ["KeyReused"]


def test_a_job_that_finds_an_effect_in_progress_waits_and_uses_no_attempt(
    connection: Connection, worker: Callable[..., Worker]
) -> None:
    die(connection, running(connection, kind="work"))
    [waiting] = put(connection)

    def handle(job: Job, ctx: Any) -> Any:
        return ctx.call_once("k", lambda key: key)

    drain = worker(Handler("work", handle))
    assert drain.drain(120) == {"snoozed": 1}
    assert connection.execute("select status, attempts from jobs where id = %s", (waiting,)).fetchone() == ("pending", 0)
    expire_leases(connection)
    make_due(connection)
    assert drain.drain(120) == {"done": 1}
    assert status(connection, waiting) == "done"
    assert connection.execute("select result from jobs where id = %s", (waiting,)).fetchone() == (
        idempotency_key("work", "k"),
    )
