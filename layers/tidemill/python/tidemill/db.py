"""One warm connection a container, remade when it is dead."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import errors
from psycopg.pq import TransactionStatus

from tidemill import address
from tidemill.wire import Connection, InFlight, JsonbLoader, Row, alive, run, statement

CONNECT_TIMEOUT = 5  # seconds
CANCEL_TIMEOUT = 1.0
IDLE = 60.0  # seconds after which a connection is asked whether it lives, before it is used

# A server that is gone without a word is given up after about a minute, and not after the two hours of the system.
_way = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}

# What a statement may meet through no fault of its own; the whole statement was rolled back, so it may be run again.
_collisions = (errors.DeadlockDetected, errors.SerializationFailure)
# The server said no before it ran anything, or is no longer the one that can write: another connection may do better.
_not_executed = (errors.AdminShutdown, errors.CannotConnectNow, errors.CrashShutdown, errors.ReadOnlySqlTransaction)


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
            self._sent = None
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
        for attempt in range(4):
            try:
                return InFlight(self.connection(), name, parameters).rows()
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
        """Send a statement and go on while the server works on it; what uses the connection next waits for its answer first.
        It is not run again. Raises psycopg.OperationalError, and so does the answer."""
        try:
            self._sent = InFlight(self.connection(), name, parameters)
        except psycopg.OperationalError:
            self.close()
            raise
        return self._sent

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
