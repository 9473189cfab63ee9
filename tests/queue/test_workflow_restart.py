"""What the operator sees of a workflow, and how it goes back to a step."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tidemill.cli.main import app
from tidemill.errors import PermanentError
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.operate import show
from tidemill.wire import Connection
from tidemill.worker import Worker
from typer.testing import CliRunner

from tests.queue.conftest import put, status
from tests.queue.operating import SECRET, add_job, operations, operator
from tests.queue.test_worker import row
from tests.queue.workflows import history

MakeWorker = Callable[..., Worker]
KIND = "order.total"  # which the operator of these tests knows


def give(url: str, **command: Any) -> dict[str, Any]:
    return operator(url).run({"by": "ann", **command})


def add_step(connection: Connection, job: int, position: int, name: str, **columns: Any) -> None:
    values = {"job_id": job, "position": position, "kind": "step", "name": name, "result": "1", **columns}
    marks = ", ".join(f"%({column})s" for column in values)
    connection.execute(f"insert into job_steps ({', '.join(values)}) values ({marks})", values)  # type: ignore[arg-type]


def test_show_has_the_steps_and_when_the_workflow_wakes(
    database_url: str, connection: Connection, worker: MakeWorker
) -> None:
    def flow(job: Job, ctx: Any) -> None:
        ctx.step("charge", lambda: {"receipt": 7})
        ctx.step("nothing", lambda: None)
        ctx.sleep("a week", timedelta(days=7))

    (job,) = put(connection, kind=KIND)
    worker(Handler(KIND, flow)).drain(120)
    answer = give(database_url, command="show", job=job)
    charge, nothing, week = answer["steps"]
    assert charge == {"name": "charge", "kind": "step", "result": {"receipt": 7}, "wake_at": None}
    assert nothing == {"name": "nothing", "kind": "step", "result": None, "wake_at": None}
    assert (week["name"], week["kind"], week["result"]) == ("a week", "sleep", None)
    in_a_week = datetime.now(UTC) + timedelta(days=7)
    assert abs(datetime.fromisoformat(week["wake_at"]) - in_a_week) < timedelta(minutes=5)
    assert answer["job"]["run_at"] == week["wake_at"]


@pytest.mark.usefixtures("planted")
def test_show_has_the_error_of_a_step_no_secret_and_no_flood(database_url: str, connection: Connection) -> None:
    job = add_job(connection)
    for position in range(1, 206):
        add_step(connection, job, position, f"step {position}")
    add_step(connection, job, 206, "secret", result=json.dumps(SECRET))
    add_step(connection, job, 207, "large", result=json.dumps("x" * show.STEP_BOUND))
    add_step(connection, job, 208, "failed", result=None, error_class="a.B", error="no such region")
    steps = give(database_url, command="show", job=job)["steps"]
    assert [step["name"] for step in steps] == [*[f"step {n}" for n in range(9, 206)], "secret", "large", "failed"]
    assert steps[-3]["result"] == "***"
    assert (steps[-2]["result"], len(steps[-2]["result_text"])) == (None, show.STEP_BOUND)
    assert steps[-1] == {"name": "failed", "kind": "step", "result": None, "wake_at": None, "error": "no such region"}


def test_a_job_that_is_no_workflow_has_no_steps(database_url: str, connection: Connection) -> None:
    assert give(database_url, command="show", job=add_job(connection))["steps"] == []


def test_restart_forgets_a_step_and_the_later_ones_and_the_job_runs_again_from_there(
    database_url: str, connection: Connection, worker: MakeWorker
) -> None:
    regions = ["nowhere", "here"]
    done: list[str] = []

    def provision() -> None:
        region = regions.pop(0)
        if region == "nowhere":
            raise PermanentError("no such region")
        done.append(f"provision {region}")

    def flow(job: Job, ctx: Any) -> None:
        ctx.step("charge", done.append, "charge")
        ctx.step("provision", provision)
        ctx.step("welcome", done.append, "welcome")

    (job,) = put(connection, kind=KIND, max_attempts=1)
    drain = worker(Handler(KIND, flow))
    assert drain.drain(120) == {"failed": 1}
    assert give(database_url, command="retry", job=job)["ok"]
    assert drain.drain(120) == {"failed": 1}  # a kept error is raised again
    answer = give(database_url, command="restart", job=job, step="provision")
    assert answer == {"ok": True, "job": job, "step": "provision", "was": "failed", "forgotten": 1}
    assert row(connection, job, "status, attempts, finished_at, run_at <= now()") == ("pending", 0, None, True)
    assert drain.drain(120) == {"done": 1}
    assert done == ["charge", "provision here", "welcome"]
    assert [name for _, _, name, _ in history(connection, job)] == ["charge", "provision", "welcome"]
    assert operations(connection)[-1] == (
        "ann", "restart", {"job": job, "step": "provision"},
        {"job": job, "step": "provision", "was": "failed", "forgotten": 1},
    )  # fmt: skip


@pytest.mark.parametrize("was", ["pending", "failed", "done", "discarded"])
def test_restart_makes_a_job_due_with_a_fresh_budget_however_it_stands(
    database_url: str, connection: Connection, was: str
) -> None:
    job = add_job(connection, KIND, was, attempts=5, run_at=datetime(2100, 1, 1, tzinfo=UTC), result={"old": 1})
    for position, name in enumerate(["a", "b", "a", "c"], 1):
        add_step(connection, job, position, name)
    assert give(database_url, command="restart", job=job, step="b")["forgotten"] == 3
    assert history(connection, job) == [(1, "step", "a", 1)]
    found = row(connection, job, "status, attempts, finished_at, failed_at, result, claim_id, run_at <= now()")
    assert found == ("pending", 0, None, None, None, None, True)


def test_of_the_rounds_of_a_loop_restart_forgets_all(database_url: str, connection: Connection) -> None:
    job = add_job(connection)
    for position, name in enumerate(["a", "b", "b", "c"], 1):
        add_step(connection, job, position, name)
    assert give(database_url, command="restart", job=job, step="b")["forgotten"] == 3


@pytest.mark.parametrize(
    ("command", "code", "field", "message"),
    [
        ({"job": 1, "step": "z"}, "not_found", "step", "job 1 has no step 'z' behind it"),
        ({"job": 9, "step": "a"}, "not_found", "job", "there is no job 9"),
        ({"job": 2, "step": "a"}, "conflict", "job", "job 2 is running"),
        ({"job": 3, "step": "a"}, "conflict", "job", "no handler for kind 'gone'"),
        ({"job": 1}, "invalid", "step", "step must be the name of a step"),
        ({"step": "a"}, "invalid", "job", "job must be the id of a job"),
        ({"job": 1, "step": ""}, "invalid", "step", "step must be a text of 1 to 200 characters, not ''"),
    ],
)
def test_a_restart_that_cannot_be_is_refused_and_changes_nothing(
    database_url: str, connection: Connection, command: dict[str, Any], code: str, field: str, message: str
) -> None:
    for kind, stands in ((KIND, "failed"), (KIND, "running"), ("gone", "failed")):
        add_step(connection, add_job(connection, kind, stands), 1, "a")
    answer = give(database_url, command="restart", **command)
    assert answer["error"] == {"code": code, "field": field, "message": message}
    assert [status(connection, job) for job in (1, 2, 3)] == ["failed", "running", "failed"]
    assert connection.execute("select count(*) from job_steps").fetchone() == (3,)
    assert operations(connection) == []


def test_a_drain_is_asked_for_after_a_restart(database_url: str, connection: Connection) -> None:
    woken: list[str] = []
    add_step(connection, add_job(connection), 1, "a")
    operator(database_url, wake=lambda: woken.append("drain")).run({"command": "restart", "job": 1, "step": "a"})
    assert woken == ["drain"]


def test_the_command_line_restarts(
    database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_step(connection, add_job(connection, "order.announce", "failed"), 1, "charge")
    monkeypatch.setenv("AUTOMATIONS", "tests.functions.operated")
    monkeypatch.setenv("DATABASE_URL", database_url)
    result = CliRunner().invoke(app, ["restart", "1", "charge", "--json"])
    assert json.loads(result.stdout) == {"ok": True, "job": 1, "step": "charge", "was": "failed", "forgotten": 1}
    assert status(connection, 1) == "pending"
    assert CliRunner().invoke(app, ["restart", "1", "charge"]).exit_code == 1
