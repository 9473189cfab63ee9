"""Code that does not fit the history, and calls that make no sense."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tidemill.model import Job
from tidemill.outcome import Snooze
from tidemill.wire import Connection

from tests.queue.workflows import Flow, Run, failing_after, history, last_error


@pytest.mark.parametrize("result", [object(), float("nan"), "a\0b", {1, 2}, "\udc80"])
def test_a_result_that_json_cannot_hold_is_an_error_that_names_the_step(
    run: Run, connection: Connection, result: object
) -> None:
    """A permanent one: the step has had its effect, and seven more attempts would have it seven times more."""
    assert run(lambda job, ctx: ctx.step("charge", lambda: result)) == {"failed": 1}
    assert last_error(connection)[2].startswith("step 'charge' returned what cannot be kept as JSON: ")


def steps(*names: str) -> Flow:
    def flow(job: Job, ctx: Any) -> None:
        for name in names:
            ctx.step(name, lambda: None)

    return flow


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (steps("a", "x", "c"), "step 2 of this job was step 'b' when it ran, and is step 'x' in the code now"),
        (steps("b", "a", "c"), "step 1 of this job was step 'a' when it ran, and is step 'b' in the code now"),
        (steps("a", "c"), "step 2 of this job was step 'b' when it ran, and is step 'c' in the code now"),
        (steps("a", "b"), "step 3 of this job was step 'c' when it ran, and the code now ends after step 'b'"),
        (
            lambda job, ctx: ctx.sleep("a", 5),
            "step 1 of this job was step 'a' when it ran, and is sleep 'a' in the code now",
        ),
    ],
    ids=["renamed", "reordered", "removed", "removed at the end", "of another kind"],
)
def test_other_steps_than_those_that_ran_are_an_error_that_names_both(
    run: Run, connection: Connection, now: Flow, text: str
) -> None:
    run(failing_after(steps("a", "b", "c")))
    before = history(connection, 1)
    assert run(now) == {"failed": 1}
    assert last_error(connection) == ("failed", "StepMismatch", text)
    assert history(connection, 1) == before


def test_steps_that_are_added_at_the_end_are_no_mismatch(run: Run) -> None:
    run(failing_after(steps("a")))
    assert run(steps("a", "b")) == {"done": 1}


def test_a_snooze_between_steps_leaves_the_later_ones_for_later(run: Run) -> None:
    run(failing_after(steps("a", "b")))

    def flow(job: Job, ctx: Any) -> Snooze:
        ctx.step("a", lambda: None)
        return Snooze(5)

    assert run(flow) == {"snoozed": 1}


@pytest.mark.parametrize(
    ("call", "error_class", "text"),
    [
        (lambda ctx: ctx.step("", print), "ValueError", "the name of a step must be a text of 1 to 200 characters, not ''"),
        (lambda ctx: ctx.step(7, print), "ValueError", "the name of a step must be a text"),
        (lambda ctx: ctx.step("a" * 201, print), "ValueError", "the name of a step must be a text"),
        (lambda ctx: ctx.sleep("a\0", 1), "ValueError", "the name of a sleep holds a character that cannot be stored"),
        (lambda ctx: ctx.step("a", "b"), "TypeError", "step 'a': function must be callable, not str"),
        (lambda ctx: ctx.sleep("a", "1h"), "ValueError", "the duration of the sleep 'a' must be a timedelta or a number of"),
        (lambda ctx: ctx.sleep("a", -1), "ValueError", "the duration of the sleep 'a' must be from 0 seconds to ten years"),
        (lambda ctx: ctx.sleep("a", True), "ValueError", "the duration of the sleep 'a' must be a timedelta"),
        (lambda ctx: ctx.sleep("a", float("inf")), "ValueError", "the duration of the sleep 'a' must be a timedelta"),
        (lambda ctx: ctx.wait_for("a", None), "ValueError", "the timeout of the wait for 'a' must be a timedelta"),
        (
            lambda ctx: ctx.step("a", lambda: ctx.sleep("b", 1)),
            "RuntimeError",
            "sleep 'b' is called inside the step 'a': steps go one after the other",
        ),
        (
            lambda ctx: ctx.step("a", ctx.connection.execute, "begin"),
            "PermanentError",
            "step 'a' returned what cannot be kept as JSON",
        ),
        (
            lambda ctx: ctx.step("a", lambda: ctx.connection.execute("begin").rownumber),
            "RuntimeError",
            "step 'a' has left a transaction open: ctx.connection must be in autocommit then",
        ),
    ],
)
def test_a_wrong_call_is_an_error_that_says_what_is_wrong(
    run: Run, connection: Connection, call: Callable[[Any], Any], error_class: str, text: str
) -> None:
    run(lambda job, ctx: call(ctx))
    _, found_class, found = last_error(connection)
    assert (found_class, found[: len(text)]) == (error_class, text)
    assert connection.execute("select count(*) from job_steps where error is null").fetchone() == (0,)


@pytest.mark.parametrize("call", [lambda ctx: ctx.step("a", print), lambda ctx: ctx.wait_for("a", 5)])
def test_a_step_in_an_open_transaction_is_refused(
    run: Run, connection: Connection, call: Callable[[Any], Any]
) -> None:
    def flow(job: Job, ctx: Any) -> None:
        with ctx.connection.transaction():
            call(ctx)

    assert run(flow) == {"retried": 1}
    assert "is called in an open transaction" in last_error(connection)[2]
