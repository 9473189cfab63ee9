"""Declaring schedules, and resolving them to the kinds of their handlers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from tidemill import schedule
from tidemill.errors import ConfigurationError
from tidemill.handlers import Handler, handler
from tidemill.schedule import Declaration, cron, daily, every, resolve


def declared_here() -> list[Declaration]:
    """What this test declared, which is what was declared last."""
    return schedule.declared.of([__name__])


@pytest.fixture(autouse=True)
def nothing_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule.declared, "_declared", {})


def handlers(**functions: Callable[..., Any]) -> dict[str, Handler]:
    return {kind: Handler(kind, function) for kind, function in functions.items()}


def test_a_schedule_is_declared_over_or_under_its_handler() -> None:
    @daily("09:00")
    @handler("over")
    def over(job: object, ctx: object) -> None: ...

    @handler("under")
    @cron("0 9 * * MON-FRI", tz="Europe/Rome")
    def under(job: object, ctx: object) -> None: ...

    found = resolve(declared_here(), handlers(over=over, under=under))
    assert [(one.name, one.kind, one.rule) for one in found] == [
        ("over", "over", "daily('09:00', tz='UTC')"),
        ("under", "under", "cron('0 9 * * MON-FRI', tz='Europe/Rome')"),
    ]
    assert over(None, None) is None  # type: ignore[func-returns-value]


def test_a_decorator_in_between_does_not_hide_the_handler() -> None:
    def traced(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any) -> Any:
            return function(*args)

        return wrapper

    def work(job: object, ctx: object) -> None: ...

    every(minutes=5)(traced(work))
    assert [one.kind for one in resolve(declared_here(), handlers(work=work))] == ["work"]


def test_a_function_has_several_schedules_by_several_names() -> None:
    def work(job: object, ctx: object) -> None: ...

    daily("09:00", name="morning")(daily("17:00", name="evening", catch_up=2)(work))
    found = resolve(declared_here(), handlers(work=work))
    assert [(one.name, one.kind, one.catch_up) for one in found] == [("evening", "work", 2), ("morning", "work", 1)]


@pytest.mark.parametrize("name", [None, "work"])
def test_two_schedules_of_a_function_by_one_name_are_refused_at_once(name: str | None) -> None:
    def work(job: object, ctx: object) -> None: ...

    with pytest.raises(ConfigurationError, match="work has another schedule of that name; give it name="):
        daily("09:00", name=name)(daily("17:00", name=name)(work))


def test_a_reloaded_function_replaces_its_schedule() -> None:
    def load(minutes: int) -> Callable[..., Any]:
        def work(job: object, ctx: object) -> None: ...

        return every(minutes=minutes)(work)

    load(1)
    again = load(2)
    assert [one.rule for one in resolve(declared_here(), handlers(work=again))] == ["every(minutes=2)"]


def test_all_that_cannot_be_resolved_is_named_at_once() -> None:
    def nobodys(job: object, ctx: object) -> None: ...
    def one(job: object, ctx: object) -> None: ...
    def two(job: object, ctx: object) -> None: ...
    def both(job: object, ctx: object) -> None: ...

    every(minutes=1)(nobodys)
    every(minutes=2, name="same")(one)
    every(minutes=3, name="same")(two)
    every(minutes=4)(both)
    with pytest.raises(ConfigurationError) as caught:
        resolve(declared_here(), handlers(one=one, two=two, a=both, b=both))
    text = str(caught.value)
    assert (
        "schedule every(minutes=1) of tests.unit.test_schedule_declared" in text
        and "nobodys" in text
        and "not of none" in text
    )
    assert "two schedules have the name 'same': every(minutes=2) and every(minutes=3)" in text
    assert "not of a and b" in text


def test_the_name_of_a_kind_collides_with_the_default_name() -> None:
    def work(job: object, ctx: object) -> None: ...

    every(minutes=1)(every(minutes=2, name="work")(work))
    with pytest.raises(ConfigurationError, match="two schedules have the name 'work'"):
        resolve(declared_here(), handlers(work=work))


@pytest.mark.parametrize(
    ("declare", "says"),
    [
        (lambda: every(minutes=0), r"schedule every\(minutes=0\): minutes must be a whole number"),
        (lambda: every(minutes=True, name="beat"), "schedule 'beat': minutes must be a whole number"),
        (lambda: daily("25:00"), r"schedule daily\('25:00', tz='UTC'\): the time must be"),
        (lambda: daily("09:00", tz="America"), r"schedule daily\('09:00', tz='America'\): tz must be"),
        (lambda: cron("0 0 31 2 *"), r"schedule cron\('0 0 31 2 \*', tz='UTC'\): .* cannot be met"),
        (lambda: cron("* * * * *", name="m", tz=""), "schedule 'm': tz must be"),
        (lambda: every(minutes=1, name=""), "schedule '': name must be a text"),
        (lambda: every(minutes=1, name="a\0"), "name must be a text"),
        (lambda: every(minutes=1, name="a" * 201), "name must be a text"),
        (lambda: every(minutes=1, catch_up=0), "catch_up must be a whole number from 1"),
        (lambda: every(minutes=1, catch_up=True), "catch_up must be a whole number from 1"),
        (lambda: daily(lambda job, ctx: None), "the time must be"),  # type: ignore[arg-type]
    ],
)
def test_wrong_arguments_are_refused_at_once_and_name_the_schedule(declare: Callable[[], Any], says: str) -> None:
    """B61, B67, B68"""
    with pytest.raises(ConfigurationError, match=says):
        declare()
