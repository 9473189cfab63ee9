"""Schedules: slots are computed, not fired. Everything here is pure; what enqueues them is in sweep.py.

A slot is due from its instant until the next one. Its key is `name:slot`, and `unique` lets one job through.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import Any, NamedTuple, TypeVar

from tidemill import jsontext, rules
from tidemill.errors import ConfigurationError
from tidemill.handlers import Handler
from tidemill.registry import Registry

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)
Times = rules.Every | rules.Cron

MOST_COUNTED = 10_000  # missed slots: a rule of every minute that was off for a year is not worth more work
MOST_CAUGHT_UP = 1_000


class Due(NamedTuple):
    """What to enqueue, the oldest slot first, and how many older ones were missed (counted up to MOST_COUNTED)."""

    slots: list[datetime]
    missed: int


@dataclass(frozen=True)
class Schedule:
    """When jobs of `kind` are made. `rule` is the rule as text; slots are datetimes in UTC."""

    name: str
    kind: str
    rule: str
    times: Times
    catch_up: int = 1

    def last_slot(self, now: datetime) -> datetime:
        """The latest slot that is not after `now`."""
        return self.times.last(now)

    def next_slot(self, after: datetime) -> datetime:
        """The first slot after `after`."""
        return self.times.next(after)

    def previous_slot(self, slot: datetime) -> datetime:
        """The last slot before `slot`."""
        return self.times.last(slot - timedelta(microseconds=1))

    def text(self, slot: datetime) -> str:
        """A slot in ISO 8601 with the offset of the schedule's zone: one text for one instant."""
        return slot.astimezone(self.times.zone).isoformat(timespec="seconds")

    def key(self, slot: datetime) -> str:
        """The key of the slot's job."""
        return f"{self.name}:{self.text(slot)}"

    def due(self, since: datetime, now: datetime) -> Due:
        """The slots after `since` that are due at `now`: the latest `catch_up` of them, the older ones are missed."""
        found = list(islice(takewhile(lambda slot: slot > since, self._back_from(now)), MOST_COUNTED + self.catch_up))
        return Due(found[: self.catch_up][::-1], max(len(found) - self.catch_up, 0))

    def overdue(self, since: datetime, now: datetime) -> bool:
        """Whether the first slot after `since` has been due for more than a period, that is until after the one after it."""
        return now > self.next_slot(self.next_slot(since))

    def restart(self, since: datetime, now: datetime) -> datetime:
        """From when on slots count where this rule has just replaced another, under which all up to `since` are done.

        The latest slot is still due, unless something ran within the period before it: a daily rule that moves from nine to
        ten o'clock at noon does not run a second time today. What the new rule would have had before that is not missed.
        """
        previous = self.previous_slot(self.last_slot(now))
        return previous if since <= previous else now

    def _back_from(self, now: datetime) -> Iterator[datetime]:
        slot = self.last_slot(now)
        while True:
            yield slot
            slot = self.previous_slot(slot)


@dataclass(frozen=True)
class Declaration:
    """A schedule as its decorator declares it: the kind is that of the function's handler, known when all is loaded."""

    function: Function
    name: str | None
    rule: str
    times: Times
    catch_up: int


declared: Registry[Declaration] = Registry()


def every(*, minutes: int, name: str | None = None, catch_up: int = 1) -> Callable[[F], F]:
    """Run the function's kind every so many minutes, counted from the Unix epoch. Raises ConfigurationError."""
    return _declare(f"every(minutes={minutes!r})", lambda: rules.Every(minutes), name, catch_up)


def daily(at: str, *, tz: str = "UTC", name: str | None = None, catch_up: int = 1) -> Callable[[F], F]:
    """Run the function's kind once a day, at "09:00" on the clocks of `tz`. Raises ConfigurationError."""
    return _declare(f"daily({at!r}, tz={tz!r})", lambda: rules.daily(at, rules.zone(tz)), name, catch_up)


def cron(expression: str, *, tz: str = "UTC", name: str | None = None, catch_up: int = 1) -> Callable[[F], F]:
    """Run the function's kind by five cron fields on the clocks of `tz` (see rules.Cron). Raises ConfigurationError."""
    return _declare(f"cron({expression!r}, tz={tz!r})", lambda: rules.Cron(expression, rules.zone(tz)), name, catch_up)


def resolve(declarations: Iterable[Declaration], handlers: Mapping[str, Handler]) -> list[Schedule]:
    """The schedules, each with the kind of its function's handler. Raises ConfigurationError that names every fault: a
    function without a handler or with several, and names that are used twice."""
    kinds: dict[Function, list[str]] = {}
    for kind, handler in handlers.items():
        kinds.setdefault(inspect.unwrap(handler.function), []).append(kind)
    found: dict[str, Schedule] = {}
    faults: list[str] = []
    for declaration in declarations:
        its_kinds = kinds.get(inspect.unwrap(declaration.function), [])
        if len(its_kinds) != 1:
            named = " and ".join(sorted(its_kinds)) or "none"
            faults.append(f"{_place(declaration)}: its function must be the handler of one kind, not of {named}")
            continue
        name = declaration.name or its_kinds[0]
        one = Schedule(name, its_kinds[0], declaration.rule, declaration.times, declaration.catch_up)
        if (other := found.setdefault(name, one)) is not one:
            faults.append(f"two schedules have the name {name!r}: {other.rule} and {one.rule}; give one of them name=")
    if faults:
        raise ConfigurationError("; ".join(faults))
    return list(found.values())


def _declare(rule: str, times: Callable[[], Times], name: str | None, catch_up: int) -> Callable[[F], F]:
    label = f"schedule {name!r}" if name is not None else f"schedule {rule[:200]}"
    try:
        _check(name, catch_up)
        made = times()
    except ValueError as error:
        raise ConfigurationError(f"{label}: {error}") from None

    def declare(function: F) -> F:
        module, place = function.__module__, function.__qualname__
        declaration = Declaration(function, name, rule, made, catch_up)
        other = declared.get((module, place, name))
        # The same function, not one that a reloaded module defined anew.
        if other is not None and inspect.unwrap(other.function) is inspect.unwrap(function):
            raise ConfigurationError(f"{label}: {module}.{place} has another schedule of that name; give it name=")
        declared.add((module, place, name), module, declaration)
        return function

    return declare


def _check(name: object, catch_up: object) -> None:
    if name is not None and (not isinstance(name, str) or not 1 <= len(name) <= 200 or jsontext.clean(name) != name):
        raise ValueError("name must be a text of 1 to 200 characters")
    if isinstance(catch_up, bool) or not isinstance(catch_up, int) or not 1 <= catch_up <= MOST_CAUGHT_UP:
        raise ValueError(f"catch_up must be a whole number from 1 to {MOST_CAUGHT_UP}, not {catch_up!r}")


def _place(declaration: Declaration) -> str:
    function = declaration.function
    return f"schedule {declaration.rule} of {function.__module__}.{function.__qualname__}"
