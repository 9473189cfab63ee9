"""Steps: each runs once, and the code that comes back finds what it left."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tidemill.errors import PermanentError
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.wire import Connection
from tidemill.worker import Worker

from tests.queue.conftest import put
from tests.queue.test_worker import row
from tests.queue.workflows import Flow, Run, failing_after, history, last_error, pass_time


class Declined(PermanentError):
    def __init__(self, bank: str, code: int) -> None:
        super().__init__(f"{bank} says {code}")
        self.code = code


def test_a_step_runs_once_and_later_runs_get_its_result(run: Run, connection: Connection) -> None:
    calls: list[Any] = []

    def charge(customer: str, cents: int) -> dict[str, Any]:
        calls.append((customer, cents))
        return {"receipt": len(calls)}

    seen: list[Any] = []

    def flow(job: Job, ctx: Any) -> str:
        seen.append(ctx.step("charge", charge, "ada", 500))
        if len(seen) < 3:
            raise ValueError("the provider is away")
        return "done"

    assert [run(flow) for _ in range(3)] == [{"retried": 1}, {"retried": 1}, {"done": 1}]
    assert (calls, seen) == ([("ada", 500)], [{"receipt": 1}] * 3)
    assert history(connection, 1) == [(1, "step", "charge", {"receipt": 1})]


@pytest.mark.parametrize(
    ("given", "kept"),
    [((1, 2), [1, 2]), ({1: "a"}, {"1": "a"}), (None, None), (1e300, 10**300), ({"b": 1, "a": 2.50}, {"a": 2.5, "b": 1})],
)
def test_the_first_run_sees_the_same_json_value_that_a_later_run_sees(run: Run, given: Any, kept: Any) -> None:
    seen: list[Any] = []
    flow = failing_after(lambda job, ctx: seen.append(ctx.step("a", lambda: given)))
    run(flow), run(flow)
    assert [(type(one), one) for one in seen] == [(type(kept), kept)] * 2


def test_the_rounds_of_a_loop_are_distinct_steps(run: Run) -> None:
    calls: list[int] = []
    seen: list[list[int]] = []

    def square(number: int) -> int:
        calls.append(number)
        return number * number

    flow = failing_after(lambda job, ctx: seen.append([ctx.step("square", square, number) for number in range(4)]))
    run(flow), run(flow)
    assert (calls, seen) == ([0, 1, 2, 3], [[0, 1, 4, 9]] * 2)


def test_an_ordinary_error_is_not_kept_and_the_step_runs_again(run: Run, connection: Connection) -> None:
    calls: list[int] = []

    def flaky() -> str:
        calls.append(1)
        if len(calls) == 1:
            raise ConnectionError("away")
        return "ok"

    flow = lambda job, ctx: ctx.step("flaky", flaky)  # noqa: E731
    assert (run(flow), history(connection, 1)) == ({"retried": 1}, [])
    assert (run(flow), len(calls), row(connection, 1, "attempts")) == ({"done": 1}, 2, (2,))


def test_a_permanent_error_is_kept_and_raised_again_by_its_own_class(run: Run, connection: Connection) -> None:
    calls: list[int] = []
    seen: list[str] = []

    def charge() -> None:
        calls.append(1)
        raise Declined("the bank", 51)

    def flow(job: Job, ctx: Any) -> None:
        try:
            ctx.step("charge", charge)
        except Declined as error:
            seen.append(str(error))
        raise ValueError("later")

    run(flow), run(flow)
    assert (calls, seen) == ([1], ["the bank says 51"] * 2)
    kept = connection.execute("select error_class, error, result from job_steps").fetchall()
    assert kept == [("tests.queue.test_workflow.Declined", "the bank says 51", None)]


def test_a_kept_error_whose_class_is_gone_is_a_permanent_error(run: Run, connection: Connection) -> None:
    put(connection)
    connection.execute(
        "insert into job_steps (job_id, position, kind, name, error_class, error)"
        " values (1, 1, 'step', 'a', 'old.Gone', 'no')"
    )
    assert run(lambda job, ctx: ctx.step("a", print)) == {"failed": 1}
    assert last_error(connection) == ("failed", "PermanentError", "no")


def test_a_kept_error_has_no_secret_in_it(connection: Connection, worker: Callable[..., Worker]) -> None:
    def charge() -> None:
        raise PermanentError("refused: hunter2hunter2\0")

    put(connection)
    worker(Handler("work", lambda job, ctx: ctx.step("a", charge)), settings={"API_TOKEN": "hunter2hunter2"}).drain(120)
    assert connection.execute("select error from job_steps").fetchall() == [("refused: ***\ufffd",)]


def test_compensation_is_plain_try_and_except(run: Run, connection: Connection) -> None:
    """And it goes on where it was when it is interrupted, by its own steps, without doing the failed one again."""
    done: list[str] = []

    def provision() -> None:
        done.append("provision")
        raise PermanentError("no such region")

    def flow(job: Job, ctx: Any) -> str:
        receipt = ctx.step("charge", lambda: done.append("charge") or "r-1")
        try:
            ctx.step("provision", provision)
        except Exception:
            ctx.step("refund", done.append, f"refund {receipt}")
            ctx.sleep("a day", timedelta(days=1))
            ctx.step("say sorry", done.append, "sorry")
            return "refunded"
        return "provisioned"

    assert run(flow) == {"suspended": 1}
    pass_time(connection)
    assert run(flow) == {"done": 1}
    assert done == ["charge", "provision", "refund r-1", "sorry"]
    assert row(connection, 1, "result") == ("refunded",)


def test_a_step_with_a_connection_commits_its_result_with_what_it_writes(run: Run, connection: Connection) -> None:
    connection.execute("create table accounts (customer text)")

    def provision(connection: Connection, customer: str, *, plan: str = "small") -> str:
        connection.execute("insert into accounts values (%s)", (customer,))
        return plan

    def flow(job: Job, ctx: Any) -> Any:
        with pytest.raises(ValueError):
            ctx.step("undone", undone)
        return ctx.step("provision", provision, "ada")

    def undone(*, connection: Connection) -> None:
        connection.execute("insert into accounts values ('nobody')")
        raise ValueError("no")

    run(failing_after(flow)), run(flow)
    assert connection.execute("select customer from accounts").fetchall() == [("ada",)]
    assert history(connection, 1) == [(2, "step", "provision", "small")]


@pytest.mark.parametrize(
    "function",
    [
        lambda connection, a, b: [a, b, connection.closed],
        lambda a, connection, b: [a, b, connection.closed],
        lambda a, b, connection: [a, b, connection.closed],
        lambda a, b, c=0, connection=None: [a, b, connection.closed],
        lambda *both, connection: [*both, connection.closed],
    ],
)
def test_the_connection_may_stand_anywhere_among_the_parameters(run: Run, connection: Connection, function: Flow) -> None:
    run(lambda job, ctx: ctx.step("a", function, 1, 2))
    assert history(connection, 1) == [(1, "step", "a", [1, 2, False])]


def test_a_permanent_error_undoes_what_its_step_wrote_and_is_kept(run: Run, connection: Connection) -> None:
    connection.execute("create table accounts (customer text)")

    def provision(connection: Connection) -> None:
        connection.execute("insert into accounts values ('ada')")
        raise PermanentError("no such region")

    assert run(lambda job, ctx: ctx.step("provision", provision)) == {"failed": 1}
    assert connection.execute("select * from accounts").fetchall() == []
    assert connection.execute("select error from job_steps").fetchall() == [("no such region",)]


def test_rows_that_a_handler_has_chosen_for_itself_are_no_trouble(run: Run) -> None:
    from psycopg.rows import dict_row

    def flow(job: Job, ctx: Any) -> Any:
        ctx.connection.row_factory = dict_row
        return ctx.step("a", lambda: 5)

    assert run(flow) == {"done": 1}


def test_a_handler_without_steps_asks_nothing_of_the_database(run: Run, connection: Connection) -> None:
    def flow(job: Job, ctx: Any) -> bool:
        return bool(ctx._connection is None and ctx._workflow is None)

    run(flow)
    assert row(connection, 1, "result") == (True,)
