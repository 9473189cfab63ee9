"""`once`: an effect in the database happens with its record or not at all, whoever comes second."""

from __future__ import annotations

import threading

import pytest
from psycopg.rows import dict_row
from tidemill.db import connect
from tidemill.errors import KeyReused, PermanentError
from tidemill.once import once
from tidemill.wire import Connection

from tests.queue.ledger import EFFECTS, act, count


@pytest.fixture(autouse=True)
def effects(connection: Connection) -> None:
    connection.execute(EFFECTS)


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
