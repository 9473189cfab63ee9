"""What may become of an attempt: frozen values, apart from the model, since the intake has no use for them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Done:
    """The attempt succeeded; `result` is the JSON text of what the handler returned, None for None."""

    result: str | None = None


PLAINLY_DONE = Done()  # the one that nearly all attempts end with, which is settled together with the next claim


@dataclass(frozen=True, slots=True)
class Retry:
    """The attempt failed; again after a backoff, or failed for good where attempts are used up."""

    error_class: str
    error: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The attempt failed for good."""

    error_class: str
    error: str


@dataclass(frozen=True, slots=True)
class Snooze:
    """Later, without using an attempt: a handler returns it with the seconds to wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Suspended:
    """A workflow waits: later, without using an attempt, at the job's run_at, which is written already."""


@dataclass(frozen=True, slots=True)
class Limited:
    """The other side wants a pause of `seconds`: later, without using an attempt, and so for all jobs under the limit."""

    seconds: float
    error: str


@dataclass(frozen=True, slots=True)
class Discard:
    """Ended on purpose, without having been done: a handler returns it with the reason."""

    reason: str


Outcome = Done | Retry | Failed | Snooze | Suspended | Limited | Discard
