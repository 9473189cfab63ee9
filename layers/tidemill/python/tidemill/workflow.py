"""Durable steps: linear code that lives through failures and goes on a week later.

The handler of a workflow runs from its beginning each time. What it has behind it is in `job_steps`, by position, and a call
of step, sleep or wait_for that is over returns at once what it returned the first time. Only the claim that runs the job
writes there (the fence), so that of two workers with one job the history is that of one.

To wait, the attempt ends: the time to wake up is written to the step and to the job's run_at in one statement, and the
exception Suspension leaves the handler. Code in `finally`, and in an `except` without a class, runs each time that happens.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple, NoReturn

from psycopg.pq import TransactionStatus

from tidemill import jsontext, newjob
from tidemill.errors import PermanentError, StepMismatch, Suspension
from tidemill.model import Job
from tidemill.wire import Connection, Row, run, statement

Function = Callable[..., Any]


class Past(NamedTuple):
    """A step that the history has. `over`: it need not run or wait any more."""

    kind: str
    name: str
    over: bool
    result: Any
    error_class: str | None
    error: str | None


class Workflow:
    """The steps of one run of a job. `connection()` is the handler's own; `redact` takes secrets out of an error's text."""

    def __init__(self, job: Job, connection: Callable[[], Connection], redact: Callable[[str], str]) -> None:
        self._job = job
        self._connection = connection
        self._redact = redact
        self._history: dict[int, Past] | None = None  # by position; read when the first step is called
        self._position = 0
        self._at = "its beginning"  # what was called last, as a person reads it
        self._inside: str | None = None  # the step whose function runs
        self.suspended = False

    def step(self, name: str, function: Function, args: tuple[Any, ...]) -> Any:
        """See Context.step."""
        if not callable(function):
            raise TypeError(f"step {name!r}: function must be callable, not {type(function).__name__}")
        past = self._next("step", name)
        if past is None:
            self._inside = name
            try:
                return self._run(name, function, args)
            finally:
                self._inside = None
        if past.error_class is not None:
            raise _remembered(past.error_class, past.error or "")
        return past.result

    def sleep(self, name: str, duration: timedelta | float) -> None:
        """See Context.sleep."""
        seconds = newjob.duration(f"the duration of the sleep {name!r}", duration)
        past = self._next("sleep", name)
        if past is None or not past.over:
            self._await(run(self._connection(), statement("step_sleep"), self._values(name, seconds=seconds)))

    def wait_for(self, name: str, timeout: timedelta | float) -> Any:
        """See Context.wait_for."""
        seconds = newjob.duration(f"the timeout of the wait for {name!r}", timeout)
        past = self._next("wait_for", name)
        if past is not None and past.over:
            return past.result
        with (connection := self._connection()).transaction():
            run(connection, statement("lock_signal"), {"name": name})
            rows = run(connection, statement("step_wait"), self._values(name, seconds=seconds))
        return self._await(rows)

    def check(self) -> None:
        """Called when the handler has returned. Raises StepMismatch where the history goes on after the code's last step."""
        for position, past in (self._history or {}).items():
            if position > self._position:
                raise StepMismatch(f"{_found(position, past)}, and the code now ends after {self._at}")

    def _next(self, kind: str, name: str) -> Past | None:
        """Take the next position: what the history has there, or None. Raises StepMismatch."""
        if self.suspended:  # code in a `finally`, or behind an `except` that took the Suspension
            raise Suspension
        newjob.text(f"the name of a {kind}", name)
        if self._inside is not None:
            raise RuntimeError(f"{kind} {name!r} is called inside the step {self._inside!r}: steps go one after the other")
        self._refuse_transaction(f"{kind} {name!r} is called in an open transaction")
        if self._history is None:
            rows = run(self._connection(), statement("steps"), {"job": self._job.id})
            self._history = {row[0]: Past._make(row[1:]) for row in rows}
        self._position += 1
        self._at = f"{kind} {name!r}"
        past = self._history.get(self._position)
        if past is not None and (past.kind, past.name) != (kind, name):
            raise StepMismatch(f"{_found(self._position, past)}, and is {self._at} in the code now")
        return past

    def _run(self, name: str, function: Function, args: tuple[Any, ...]) -> Any:
        """Run a step's function, and record what comes of it together with what it writes where it takes the connection."""
        try:
            if _takes_connection(function):
                with (connection := self._connection()).transaction():
                    positional, named = _with_connection(function, args, connection)
                    return self._record(name, result=_json(name, function(*positional, **named)))
            result = _json(name, function(*args))
            self._refuse_transaction(f"step {name!r} has left a transaction open")
            return self._record(name, result=result)
        except PermanentError as error:
            kind = type(error)
            text = jsontext.error_text(error, self._redact)
            self._record(name, error_class=f"{kind.__module__}.{kind.__qualname__}", error=text)
            raise

    def _record(self, name: str, **what: str) -> Any:
        """Append to the history, and return the result as it is stored there."""
        values = self._values(name, **{"result": None, "error_class": None, "error": None, **what})
        rows = run(self._connection(), statement("step_record"), values)
        if not rows:
            self._suspend()
        return rows[0][0]

    def _await(self, rows: list[Row]) -> Any:
        """The result of a sleep or a wait, if it is over. No row: the job is another worker's by now."""
        if not rows or not rows[0][0]:
            self._suspend()
        return rows[0][1]

    def _suspend(self) -> NoReturn:
        self.suspended = True
        raise Suspension

    def _values(self, name: str, **more: Any) -> dict[str, Any]:
        return {"job": self._job.id, "claim": self._job.claim_id, "position": self._position, "name": name, **more}

    def _refuse_transaction(self, what: str) -> None:
        connection = self._connection()
        if connection.info.transaction_status != TransactionStatus.IDLE or not connection.autocommit:
            raise RuntimeError(f"{what}: ctx.connection must be in autocommit then, so that what is recorded stays")


def _found(position: int, past: Past) -> str:
    return f"step {position} of this job was {past.kind} {past.name!r} when it ran"


def _json(name: str, value: object) -> str:
    try:
        return jsontext.dumps(value)
    except Exception as error:  # not only ValueError: a value may have methods of its own that json calls
        # Permanent, since the step has had its effect, and another attempt would have it again.
        text = jsontext.clean(str(error), 300)
        raise PermanentError(f"step {name!r} returned what cannot be kept as JSON: {text}") from None


def _takes_connection(function: Function) -> bool:
    try:
        return "connection" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin that tells nothing of its parameters
        return False


def _with_connection(
    function: Function, args: tuple[Any, ...], connection: Connection
) -> tuple[tuple[Any, ...], dict[str, Connection]]:
    """The arguments with the connection in its place among them, by its name where its place is behind theirs."""
    parameters = inspect.signature(function).parameters
    place = list(parameters).index("connection")
    if place > len(args) or parameters["connection"].kind is inspect.Parameter.KEYWORD_ONLY:
        return args, {"connection": connection}
    return (*args[:place], connection, *args[place:]), {}


def _remembered(error_class: str, text: str) -> PermanentError:
    """The error again, of its own class where that is loaded, so that the same `except` takes it; only its text is kept."""
    kinds: list[type[PermanentError]] = [PermanentError]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    found = next((kind for kind in kinds if f"{kind.__module__}.{kind.__qualname__}" == error_class), PermanentError)
    error = PermanentError.__new__(found)
    error.args = (text,)
    return error
