"""`call_once`: an effect outside has one key, is recorded when it has happened, and blocks nobody for ever."""

from __future__ import annotations

import uuid

import pytest
from tidemill.db import connect
from tidemill.errors import InProgress, KeyReused, PermanentError
from tidemill.once import idempotency_key
from tidemill.wire import Connection

from tests.queue.ledger import EFFECTS, act, call, count, die, running


@pytest.fixture(autouse=True)
def effects(connection: Connection) -> None:
    connection.execute(EFFECTS)


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
