"""A process that dies between any two statements of a handler with an effect: the effect happens once all the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tidemill import queue
from tidemill.db import Database
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.wire import Connection
from tidemill.worker import Worker

from tests.queue.conftest import expire_leases, make_due, put
from tests.queue.dying import Death, dying_parts, in_a_process


def pay(job: Job, ctx: Any) -> Any:
    """A business write that the ledger covers, and a row of the outbox with it."""
    with ctx.once("invoice:1") as entry:
        if entry.first:
            ctx.connection.execute("insert into effects values ('paid')")
            ctx.publish("invoice.paid", {"number": 1})
            entry.result = "receipt"
    return entry.result


def send(provider: Path, job: Job, ctx: Any) -> Any:
    """An effect outside: a provider that keeps the idempotency keys it has seen."""

    def deliver(key: str) -> str:
        with provider.open("a") as calls:
            calls.write(f"{key}\n")
        ctx.connection.execute("select 'a place to die'")
        return "delivered"

    return ctx.call_once("invoice:1", deliver)


def let_time_pass(connection: Connection, database: Database) -> None:
    expire_leases(connection)
    queue.reap(database, {"work": 8})
    make_due(connection)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_write_in_a_once_block_happens_once_wherever_the_process_dies(
    connection: Connection, database_url: str, database: Database, worker: Callable[..., Worker], when: str
) -> None:
    """B99"""
    connection.execute("create table effects (name text)")
    handler = Handler("work", pay)
    for number in count(1):
        connection.execute("truncate jobs, job_executions, outbox, effects restart identity cascade")
        put(connection, 2)  # the second does the same again
        dying = partial(dying_parts, database_url, Death(when, number), handler)
        killed = in_a_process(lambda dying=dying: Worker(dying()).drain(120))  # type: ignore[misc]
        let_time_pass(connection, database)
        worker(handler).drain(120)
        assert (
            connection.execute("select status, result, attempts <= 2 from jobs").fetchall()
            == [("done", "receipt", True)] * 2
        )
        assert connection.execute("select count(*) from effects").fetchone() == (1,)
        assert connection.execute("select topic, payload from outbox").fetchall() == [("invoice.paid", {"number": 1})]
        if not killed:
            break
    assert number > 10  # points at which it was killed


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_effect_outside_has_one_key_and_one_record_wherever_the_process_dies(
    connection: Connection, database_url: str, database: Database, worker: Callable[..., Worker], when: str, tmp_path: Path
) -> None:
    """B99: the provider may be called twice, with the same key; never for a second job that finds it recorded."""
    for number in count(1):
        provider = tmp_path / str(number)
        handler = Handler("work", partial(send, provider))
        connection.execute("truncate jobs, job_executions restart identity cascade")
        put(connection, 2)
        dying = partial(dying_parts, database_url, Death(when, number), handler)
        killed = in_a_process(lambda dying=dying: Worker(dying()).drain(120))  # type: ignore[misc]
        let_time_pass(connection, database)
        worker(handler, threads=1).drain(120)
        assert (
            connection.execute("select status, result, attempts <= 2 from jobs").fetchall()
            == [("done", "delivered", True)] * 2
        )
        calls = provider.read_text().splitlines()
        assert len(set(calls)) == 1 and len(calls) <= (2 if killed else 1)
        if not killed:
            break
    assert number > 6
