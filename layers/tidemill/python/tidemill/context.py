"""What a handler is given beside its job. Everything is made when it is first used, since most jobs use little of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from threading import Event
from typing import TYPE_CHECKING, Any

from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from tidemill import once, outbox, queue
from tidemill.errors import JobTimeout
from tidemill.model import Enqueued, Job, NewJob
from tidemill.once import Entry
from tidemill.settings import Settings
from tidemill.telemetry import Log
from tidemill.wire import Connection, alive
from tidemill.workflow import Workflow

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
    """What all contexts of a worker share; `published` is set when something was written to the outbox."""

    settings: Settings
    log: Log
    limits: Mapping[str, str]
    connections: Connections
    published: Event = field(default_factory=Event)


class Context:
    """What a handler is given: `settings`, `log`, and what the properties and methods below say."""

    def __init__(self, job: Job, tools: Tools, ends_at: float) -> None:
        self._job = job
        self._tools = tools
        self._ends_at = ends_at
        self._connection: Connection | None = None
        self._workflow: Workflow | None = None
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

    def once(
        self, key: str | int, request: Any = None, connection: Connection | None = None
    ) -> AbstractContextManager[Entry]:
        """`with ctx.once(key) as entry:` opens a transaction on `connection` (default: the handler's own), or joins the open
        one. `entry.first` says whether to act, `entry.result` is what is recorded with it, and after the block what was.
        Raises KeyReused where the key of this kind was used with another `request` (any JSON; None is not compared)."""
        return once.once(connection or self.connection, self._job.kind, key, request)

    def call_once(self, key: str | int, function: Callable[[str], Any], *, request: Any = None) -> Any:
        """For an effect outside the database: `function(idempotency_key)`, unless it was done under this key. Returns the
        result as it is stored. The idempotency key is the same on every attempt: the function may be called again where an
        attempt died in it, so hand the key to the provider. What the function raises is not recorded. Raises as `once` does,
        and PermanentError in an open transaction."""
        return once.call_once(self.connection, self._job, key, function, request=request, seconds=self.remaining())

    def publish(self, topic: str, payload: Any, connection: Connection | None = None) -> int:
        """Write to the outbox, in the transaction that is open on `connection` (default: the handler's own); the relay sends
        it to the target of the topic. Returns the id that the receiver gets too. Raises ValueError that names the field."""
        row_id = outbox.publish(connection or self.connection, topic, payload, self._job.correlation_id)
        self._tools.published.set()
        return row_id

    def step(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Run `function(*args)` once and keep what it returns: later runs of the job get that, and do not call it.

        Returns the result as JSON has it (a tuple is a list). A function with a parameter `connection` gets ctx.connection
        there, in the transaction that also records the result. Steps match by position and name, so each round of a loop is
        a step of its own. PermanentError is recorded too, and raised again by later runs; after any other error the next
        attempt runs the step again. Raises StepMismatch where the job has other steps behind it, PermanentError for a result
        that JSON cannot hold, RuntimeError in an open transaction or another step, ValueError for a bad name.
        """
        return self._steps.step(name, function, args)

    def sleep(self, name: str, duration: timedelta | float) -> None:
        """Go on in `duration` (a timedelta or seconds, at most ten years), once and for all; the worker is given back until
        then. Raises as `step` does. The code after it, `finally` blocks included, must bear to be reached from the start."""
        self._steps.sleep(name, duration)

    def wait_for(self, name: str, timeout: timedelta | float) -> Any:
        """Wait for the signal of this name: its payload, or None if it does not come within `timeout` (a timedelta or
        seconds). Decided once; the worker is given back meanwhile. Raises as `step` does."""
        return self._steps.wait_for(name, timeout)

    @property
    def suspended(self) -> bool:
        """The job waits in a sleep or for a signal, and this attempt is to end."""
        return self._workflow is not None and self._workflow.suspended

    def check_steps(self) -> None:
        """Called when the handler has returned. Raises StepMismatch where the job has more steps than the code."""
        if self._workflow is not None:
            self._workflow.check()

    @property
    def _steps(self) -> Workflow:
        if self._workflow is None:
            self._workflow = Workflow(self._job, lambda: self.connection, self._tools.settings.redact)
        return self._workflow

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
