"""What tests of workflows share: time that passes, and a look at the history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidemill.model import Job
from tidemill.wire import Connection

from tests.queue.conftest import make_due

Flow = Callable[[Job, Any], Any]
Run = Callable[[Flow], dict[str, int]]


def failing_after(steps: Flow) -> Flow:
    """A workflow that fails behind these steps, so that there is a next run."""

    def flow(job: Job, ctx: Any) -> Any:
        steps(job, ctx)
        raise ValueError("later")

    return flow


def last_error(connection: Connection) -> Any:
    """(status, error class, error) of the only job."""
    return connection.execute("select status, error_class, last_error from jobs").fetchone()


def pass_time(connection: Connection) -> None:
    """Let every sleep, every time for a signal, and every backoff be over."""
    connection.execute("update job_steps set wake_at = now() - interval '1 second' where wake_at > now()")
    make_due(connection)


def history(connection: Connection, job_id: int) -> list[tuple[Any, ...]]:
    """(position, kind, name, result) of each step."""
    return connection.execute(
        "select position, kind, name, result from job_steps where job_id = %s order by position", (job_id,)
    ).fetchall()


def send(connection: Connection, name: str, payload: str = "null") -> None:
    """A signal, as a plain insert of another language would send it."""
    connection.execute("insert into signals (name, payload) values (%s, %s) on conflict do nothing", (name, payload))
