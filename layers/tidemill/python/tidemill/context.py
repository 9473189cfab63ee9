"""What a handler is given beside its job. Everything is made when it is first used, since most jobs use little of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from tidemill import queue
from tidemill.db import Connection, alive
from tidemill.errors import JobTimeout
from tidemill.model import Enqueued, Job, NewJob
from tidemill.settings import Settings
from tidemill.telemetry import Log

if TYPE_CHECKING:
    import requests

    from tidemill.telegram import Telegram


class Connections:
    """Connections for handlers, apart from the worker's own: one a running job that asks for one, kept warm between jobs."""

    def __init__(self, url: str, connect: Callable[[str], Connection]) -> None:
        self._url = url
        self._connect = connect
        self._idle: list[Connection] = []

    def take(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if alive(connection):
                return connection
            connection.close()
        return self._connect(self._url)

    def give_back(self, connection: Connection) -> None:
        """Take a connection back as it was given: what is left open is rolled back."""
        try:
            if connection.info.transaction_status != TransactionStatus.IDLE:
                connection.rollback()
            connection.autocommit = True
            connection.row_factory = tuple_row
        except Exception:  # broken, or in a state that it does not come back from
            connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()


@dataclass(frozen=True)
class Tools:
    """What all contexts of a worker share."""

    settings: Settings
    log: Log
    limits: Mapping[str, str]
    connections: Connections


class Context:
    """What a handler is given: `settings`, `log`, and what the properties and methods below say."""

    def __init__(self, job: Job, tools: Tools, ends_at: float) -> None:
        self._job = job
        self._tools = tools
        self._ends_at = ends_at
        self._connection: Connection | None = None
        self._over = False

    @property
    def settings(self) -> Settings:
        """The settings, by name."""
        return self._tools.settings

    @cached_property
    def log(self) -> Log:
        """A log whose lines carry the job's id, kind and correlation id."""
        job = self._job
        return self._tools.log.bind(job=job.id, kind=job.kind, correlation_id=job.correlation_id or "")

    @property
    def connection(self) -> Connection:
        """The handler's own connection, in autocommit: `with ctx.connection.transaction():` is its transaction."""
        if self._over:
            raise JobTimeout("the job is over its time: its connection was taken away")
        if self._connection is None:
            self._connection = self._tools.connections.take()
        return self._connection

    @cached_property
    def http(self) -> requests.Session:
        """A requests session that always has a timeout and sends X-Correlation-Id."""
        from tidemill import http

        return http.session(correlation_id=self._job.correlation_id or "")

    @cached_property
    def telegram(self) -> Telegram:
        """Telegram's bot: `ctx.telegram.send_message(chat_id, text)`."""
        from tidemill.telegram import Telegram

        return Telegram(self._tools.settings, self.http)

    def enqueue(self, new_job: NewJob, connection: Connection | None = None) -> Enqueued:
        """Enqueue a job with this job's correlation id, in the transaction that is open on `connection` (default: the
        handler's own). Raises ValueError that names the field."""
        return queue.enqueue(
            connection or self.connection, [new_job], limits=self._tools.limits, correlation_id=self._job.correlation_id
        )[0]

    def remaining(self) -> float:
        """Seconds until the job's timeout, at least 0."""
        return max(self._ends_at - time.monotonic(), 0.0)

    def close(self) -> None:
        """Called when the attempt has ended, in its own thread."""
        connection, self._connection = self._connection, None
        if connection is not None:
            if self._over:
                connection.close()
            else:
                self._tools.connections.give_back(connection)

    def expire(self) -> None:
        """Called when the job is over its time, from another thread: what it runs on the database is cancelled."""
        self._over = True
        if (connection := self._connection) is not None and not connection.closed:
            connection.cancel_safe(timeout=2)
