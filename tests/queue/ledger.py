"""What the tests of the once ledger share: effects under keys, in the database and outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from tidemill.model import Job
from tidemill.once import call_once, once
from tidemill.wire import Connection

from tests.queue.conftest import put

EFFECTS = "create table effects (name text)"


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
            raise psycopg.OperationalError("gone")
        self._left -= 1
        return self._connection.cursor(**more)
