"""One warm connection a container, remade when it is dead, and the statements, one .sql file each."""

from __future__ import annotations

import json
import select
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any

import psycopg
from psycopg import errors
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.rows import tuple_row

CONNECT_TIMEOUT = 5

# What a statement may meet through no fault of its own; the whole statement was rolled back, so it may be run again.
_collisions = (errors.DeadlockDetected, errors.SerializationFailure)
# The server said no before it ran anything, or is no longer the one that can write: another connection may do better.
_not_executed = (errors.AdminShutdown, errors.CannotConnectNow, errors.CrashShutdown, errors.ReadOnlySqlTransaction)

Row = tuple[Any, ...]
Connection = psycopg.Connection[Row]


_scan_json = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


class JsonbLoader(Loader):
    """What `json.loads` makes of it in a quarter of the time: jsonb comes as UTF-8, and with nothing around it."""

    def load(self, data: Buffer) -> Any:
        return _scan_json(str(data, "utf-8"), 0)[0]


@cache
def statement(name: str) -> str:
    """The text of tidemill/statements/<name>.sql."""
    return files("tidemill.statements").joinpath(f"{name}.sql").read_text("utf-8")


def connect(url: str) -> Connection:
    """A new connection: autocommit, and no prepared statements, so that it works behind a transaction pooler."""
    connection = psycopg.connect(
        url, autocommit=True, prepare_threshold=None, connect_timeout=CONNECT_TIMEOUT, application_name="tidemill"
    )
    connection.adapters.register_loader("jsonb", JsonbLoader)
    return connection


class Database:
    """The one connection of a container, for one thread at a time.

    `execute` runs one statement in a transaction of its own (autocommit). It runs a statement again where that is safe:
    after a deadlock, and once on a new connection when the old one was found dead before the statement was sent or when
    the server said that it did not run it. A connection lost in the middle raises psycopg.OperationalError: whether the
    statement was committed is unknown, and only the caller can tell what then is safe.
    """

    def __init__(self, url: str, connect: Callable[[str], Connection] = connect) -> None:
        self._url = url
        self._connect = connect
        self._connection: Connection | None = None

    def connection(self) -> Connection:
        """The warm connection, remade if the old one is known to be dead. Raises psycopg.OperationalError."""
        if self._connection is not None and not alive(self._connection):
            self.close()
        if self._connection is None:
            self._connection = self._connect(self._url)
        return self._connection

    def execute(self, name: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """Run tidemill/statements/<name>.sql and return its rows."""
        text = statement(name)
        for attempt in range(4):
            try:
                return run(self.connection(), text, parameters)
            except _collisions:
                if attempt == 3:
                    raise
            except _not_executed:
                self.close()
                if attempt:
                    raise
            except psycopg.OperationalError:
                self.close()
                raise
        raise AssertionError("unreachable")

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction on the warm connection."""
        connection = self.connection()
        try:
            with connection.transaction():
                yield connection
        except psycopg.OperationalError:
            self.close()
            raise

    def close(self) -> None:
        """Drop the connection; the next use makes a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def run(connection: Connection, text: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
    """Run one statement on a connection and return its rows ([] where it has none), as tuples whatever rows a handler has
    chosen for itself."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        cursor.execute(text, parameters)
        return cursor.fetchall() if cursor.description else []


def alive(connection: Connection) -> bool:
    """False when the connection is closed, or when the server has hung up while nobody was listening.

    A healthy idle connection has nothing to read; one whose server was stopped has its farewell waiting. This costs no
    round trip.
    """
    if connection.closed or connection.broken:
        return False
    readable, _, _ = select.select([connection.fileno()], [], [], 0)
    return not readable
