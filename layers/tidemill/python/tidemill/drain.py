"""The drain function: what is around the worker in one invocation."""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

import psycopg

from tidemill.alerts import Alerts
from tidemill.claimer import Claims
from tidemill.db import Database
from tidemill.errors import ConfigurationError
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.telemetry import Log
from tidemill.worker import MARGIN, Worker

WITHOUT_DEADLINE = 30.0  # seconds to work for where the context names no deadline
LEAST_LEASE = 1.0


class Teller:
    """Sends the alerts of failed jobs in a thread of its own, so that a slow way out does not hold up the line."""

    def __init__(self, alerts: Alerts) -> None:
        self._alerts = alerts
        self._waiting: queue.SimpleQueue[tuple[Job, str, str] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def tell(self, job: Job, error_class: str, error: str) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="teller", daemon=True)
            self._thread.start()
        self._waiting.put((job, error_class, error))

    def finish(self, seconds: float) -> None:
        """Wait for what is left to be sent, at most so long."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join(timeout=max(seconds, 0.0))
            self._thread = None

    def told(self) -> list[int]:
        """Take the ids of the jobs that somebody was told of since the last call."""
        return self._alerts.told_jobs()

    def _work(self) -> None:
        while (one := self._waiting.get()) is not None:
            job, error_class, error = one
            self._alerts.job_failed(job.id, job.kind, error_class, error, job.correlation_id)
        self._alerts.flush()


class DrainFunction:
    """`name` is whose sign of life it leaves; `wake_relay` is called when there is something to relay."""

    def __init__(
        self,
        worker: Worker,
        teller: Teller,
        database: Database,
        log: Log,
        wake_relay: Callable[[], None] = lambda: None,
        name: str = "drain",
    ) -> None:
        self._wake_relay = wake_relay
        self._name = name
        self._worker = worker
        self._database = database
        self._teller = teller
        self._log = log

    def handle(self, event: object, context: object) -> dict[str, Any]:
        """Drain until the line is empty or the invocation's time is nearly up; answers {"ok": true, and counts}. What is in
        the event makes no difference."""
        return {"ok": True, **self.work(context)}

    def work(self, context: object, claims: Claims | None = None) -> dict[str, int]:
        """Run what `claims` brings (default: the lines), and leave everything tidy; answers the counts."""
        remaining = getattr(context, "get_remaining_time_in_millis", None)
        seconds = remaining() / 1000 if remaining else WITHOUT_DEADLINE
        try:
            counts = self._worker.drain(
                seconds,
                hard=remaining is not None,
                claims=claims,
                log_stream=str(getattr(context, "log_stream_name", "") or ""),
                request_id=str(getattr(context, "aws_request_id", "") or ""),
            )
        finally:
            self._teller.finish(remaining() / 1000 - 0.3 if remaining else 5.0)
            if self._worker.stuck:
                self._log.warning("threads are stuck in jobs over their time", threads=self._worker.stuck)
                end_process_after_answer()
        self._sign_off()
        if self._worker.take_published():
            self._wake_relay()
        return counts

    def _sign_off(self) -> None:
        """Leave a sign of life, and which failed jobs somebody was told of; without it the schedule tells of them again."""
        try:
            self._database.execute("drained", {"name": self._name, "told": self._teller.told()})
        except psycopg.Error as error:
            self._log.warning("the drain could not sign off", error=type(error).__name__)


def check_numbers(handlers: dict[str, Handler], lease: float, function_timeout: float | None) -> None:
    """Refuse a set of numbers that cannot work. `function_timeout` is that of the function that runs them, in
    seconds, None where nobody said it. Raises ConfigurationError that names each kind with the three numbers."""
    if lease < LEAST_LEASE:
        raise ConfigurationError(f"LEASE_SECONDS must be at least {LEAST_LEASE:g}, not {lease:g}")
    if function_timeout is None:
        return
    faults = [
        f"{one.kind!r}: timeout {one.timeout:g} s, lease {lease:g} s, Lambda timeout {function_timeout:g} s"
        for one in handlers.values()
        if one.timeout + MARGIN > function_timeout
    ]
    if faults:
        raise ConfigurationError(
            f"handlers that could never start, since a job starts only if its timeout and {MARGIN:g} s fit into the"
            f" Lambda timeout: {'; '.join(faults)}"
        )


def end_process_after_answer() -> None:
    """Make the Lambda runtime client end this process once the answer is sent, instead of asking for the next invocation,
    which then finds a fresh process. A stuck thread cannot be ended in any other way. Outside of Lambda nothing happens."""
    client = sys.modules.get("awslambdaric.lambda_runtime_client")
    if client is not None and "AWS_LAMBDA_RUNTIME_API" in os.environ:
        client.LambdaRuntimeClient.wait_next_invocation = lambda self: os._exit(0)
