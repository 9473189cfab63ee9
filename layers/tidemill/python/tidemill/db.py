"""One warm connection a container, remade when it is dead, and the statements, one .sql file each."""

from __future__ import annotations

import json
import re
import select
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from typing import Any

import psycopg
from psycopg import errors, generators
from psycopg.abc import Buffer
from psycopg.adapt import Loader, PyFormat, Transformer
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult
from psycopg.rows import tuple_row

from tidemill import address

CONNECT_TIMEOUT = 5  # seconds
CANCEL_TIMEOUT = 1.0
IDLE = 60.0  # seconds after which a connection is asked whether it lives, before it is used

# A server that is gone without a word is given up after about a minute, and not after the two hours of the system.
_way = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}

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


def connect(
    url: str,
    *,
    ca_file: str | None = None,
    password: Callable[[Mapping[str, Any]], str] | None = None,
    patience: float | None = None,
) -> Connection:
    """A new connection: autocommit, and no prepared statements, so that it works behind a transaction pooler. TLS as in
    `address`. `password` makes the password from the parameters of the address. With `patience` no statement runs longer
    than so many seconds, and connecting no longer than that, or 2 s: it raises psycopg.OperationalError, as for a connection
    that is lost. Raises psycopg.OperationalError."""
    parameters = address.parameters(url, ca_file)
    if password is not None:
        parameters["password"] = password(parameters)
    parameters |= {**_way, "connect_timeout": int(patience or CONNECT_TIMEOUT), "application_name": "tidemill"}
    connection = psycopg.connect(autocommit=True, prepare_threshold=None, **parameters)
    connection.adapters.register_loader("jsonb", JsonbLoader)
    if patience:
        _lose_patience(connection, patience)
    return connection


def _lose_patience(connection: Connection, seconds: float) -> None:
    wait = connection.wait

    def impatient(generator: Any, *given: Any, **named: Any) -> Any:
        try:
            return wait(generator, *given, **{**named, "timeout": seconds})
        except psycopg.OperationalError:
            if connection.info.transaction_status == TransactionStatus.ACTIVE:
                # It still runs: in a server that hangs, or waits for a lock, such statements would pile up.
                with suppress(psycopg.Error):
                    connection.cancel_safe(timeout=CANCEL_TIMEOUT)
            raise

    connection.wait = impatient  # type: ignore[method-assign, assignment]


class Database:
    """The one connection of a container, for one thread at a time.

    `execute` runs one statement in a transaction of its own (autocommit). It runs a statement again where that is safe:
    after a deadlock, and once on a new connection when the old one was found dead before the statement was sent or when
    the server said that it did not run it. A connection lost in the middle raises psycopg.OperationalError: whether the
    statement was committed is unknown, and only the caller can tell what then is safe. `now` tells epoch seconds: a
    container that sleeps may stop any other clock.
    """

    def __init__(
        self, url: str, connect: Callable[[str], Connection] = connect, now: Callable[[], float] = time.time
    ) -> None:
        self._url = url
        self._connect = connect
        self._now = now
        self._used_at = 0.0
        self._connection: Connection | None = None
        self._sent: InFlight | None = None

    def connection(self) -> Connection:
        """The warm connection, remade if the old one is known to be dead. Raises psycopg.OperationalError."""
        if self._sent is not None:
            self._sent.arrive()
        if self._connection is not None and not self._is_usable(self._connection):
            self.close()
        if self._connection is None:
            self._connection = self._connect(self._url)
        self._used_at = self._now()
        return self._connection

    def _is_usable(self, connection: Connection) -> bool:
        """Whether a connection lives. After a long sleep it may have died without a word; then it is asked, at the price of
        a round trip, and before anything is sent that nobody could say has been done."""
        if not alive(connection):
            return False
        if self._now() - self._used_at <= IDLE:
            return True
        try:
            run(connection, statement("health"))
        except psycopg.Error:
            return False
        return True

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

    def send(self, name: str, parameters: Mapping[str, Any]) -> InFlight:
        """Send a statement as `execute` would, and go on while the server works on it. What uses the connection next waits
        for its answer first. Raises psycopg.OperationalError."""
        connection = self.connection()
        try:
            self._sent = InFlight(self, name, parameters, connection)
        except psycopg.OperationalError:
            self.close()
            raise
        return self._sent

    def arrived(self, error: Exception | None = None) -> None:
        """The answer to what was sent has been read, or will never come."""
        self._sent = None
        if isinstance(error, psycopg.OperationalError):
            self.close()

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
        self._sent = None
        if connection is not None:
            connection.close()


class InFlight:
    """A statement that was sent. `count` and `rows` wait for its answer, and raise what `execute` would."""

    def __init__(self, database: Database, name: str, parameters: Mapping[str, Any], connection: Connection) -> None:
        self._database = database
        self._name = name
        self._parameters = parameters
        self._connection: Connection | None = connection
        self._transformer = Transformer(connection)
        self._result: PGresult | None = None
        self._again: list[Row] | None = None
        self._error: psycopg.Error | None = None
        text, names = _numbered(name)
        values = self._transformer.dump_sequence([parameters[one] for one in names], [PyFormat.AUTO] * len(names))
        connection.pgconn.send_query_params(text, values, self._transformer.types, self._transformer.formats)
        connection.wait(generators.send(connection.pgconn))

    def arrive(self) -> None:
        """Read the answer, once; what is wrong with it is raised by `count` and `rows`."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            self._result = connection.wait(generators.fetch_many(connection.pgconn))[-1]
            if self._result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
                self._error = errors.error_from_result(self._result, connection.info.encoding)
        except psycopg.Error as error:
            self._error = error
        self._database.arrived(self._error)

    def count(self) -> int:
        """How many rows there are."""
        self._wait()
        return self._result.ntuples if self._result is not None else len(self._again or ())

    def rows(self) -> list[Row]:
        """The rows."""
        self._wait()
        if self._result is None:
            return self._again or []
        self._transformer.set_pgresult(self._result)
        rows: list[Row] = self._transformer.load_rows(0, self._result.ntuples, tuple)
        return rows

    def first(self) -> Row:
        """The first row. Raises IndexError where there is none."""
        self._wait()
        if self._result is None:
            return (self._again or [])[0]
        self._transformer.set_pgresult(self._result)
        row: Row = self._transformer.load_row(0, tuple)
        return row

    def _wait(self) -> None:
        self.arrive()
        error, self._error = self._error, None
        if isinstance(error, (*_collisions, *_not_executed)):
            self._result, self._again = None, self._database.execute(self._name, self._parameters)
        elif error is not None:
            raise error


@cache
def _numbered(name: str) -> tuple[bytes, list[str]]:
    """A statement with $1, $2 ... and the names of its parameters in this order."""
    names: list[str] = []

    def number(found: re.Match[str]) -> str:
        if found[1] not in names:
            names.append(found[1])
        return f"${names.index(found[1]) + 1}"

    return re.sub(r"%\((\w+)\)s", number, statement(name)).encode(), names


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
