"""The queue held against a small model: whatever happens in whatever order, both say the same of every job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule, run_state_machine_as_test
from tidemill import queue
from tidemill.db import Database
from tidemill.model import Job, NewJob
from tidemill.queue import Settlement, give_back

from tests.queue.conftest import expire_leases, make_due, take

BUDGET = 3


@dataclass
class Model:
    """What a job should be."""

    status: str = "pending"
    attempts: int = 0
    claim_id: int = 0
    expired: bool = False
    due: bool = True


class Machine(RuleBasedStateMachine):
    database: Database
    claims = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.connection = self.database.connection()
        self.connection.execute("truncate jobs restart identity cascade")
        self.jobs: dict[int, Model] = {}
        self.keys: dict[str, int] = {}

    @rule(key=st.sampled_from([None, "a", "b", "c"]))
    def enqueue(self, key: str | None) -> None:
        (found,) = queue.enqueue(self.connection, [NewJob("work", key=key, max_attempts=BUDGET)], limits={})
        assert found.created == (key is None or key not in self.keys)
        if found.created:
            self.jobs[found.id] = Model()
            if key is not None:
                self.keys[key] = found.id
        else:
            assert key is not None
            assert (found.id, found.status) == (self.keys[key], self.jobs[self.keys[key]].status)

    @rule(target=claims, size=st.integers(1, 4))
    def claim(self, size: int) -> Any:
        claimed = take(self.database, size).jobs
        waiting = [job_id for job_id, job in self.jobs.items() if job.status == "pending" and job.due]
        assert len(claimed) == min(size, len(waiting))
        for job in claimed:
            model = self.jobs[job.id]
            assert job.id in waiting
            model.status, model.attempts, model.claim_id, model.expired = "running", model.attempts + 1, job.claim_id, False
            assert job.attempt == model.attempts
        return multiple(*claimed)

    @rule(job=consumes(claims), how=st.sampled_from(["done", "failed", "discarded", "retry", "back"]))
    def settle(self, job: Job, how: str) -> None:
        model = self.jobs[job.id]
        ours = model.status == "running" and model.claim_id == job.claim_id
        settlement = {
            "retry": Settlement(job.id, job.claim_id, "pending", delay=60, error_class="E", error="e"),
            "back": give_back(job),
        }.get(how) or Settlement(job.id, job.claim_id, how)
        assert queue.settle(self.database, [settlement]) == ({job.id} if ours else set())
        if ours:
            self.settled(model, how)

    def settled(self, model: Model, how: str) -> None:
        match how:
            case "retry":
                model.status, model.due = "pending", False
            case "back":
                model.status, model.attempts = "pending", model.attempts - 1
            case _:
                model.status = how

    @rule(job=consumes(claims))
    def settle_done_with_the_next_claim(self, job: Job) -> None:
        model = self.jobs[job.id]
        ours = model.status == "running" and model.claim_id == job.claim_id
        lost = take(self.database, 0, done=((job.id, job.claim_id),)).lost
        assert lost == ([] if ours else [job.id])
        if ours:
            model.status = "done"

    @rule(job=claims)
    def extend(self, job: Job) -> None:
        model = self.jobs[job.id]
        ours = model.status == "running" and model.claim_id == job.claim_id
        assert queue.extend(self.database, [job], lease=60, holder=1) == ({job.id} if ours else set())
        if ours:
            model.expired = False

    @rule()
    def let_leases_expire(self) -> None:
        expire_leases(self.connection)
        for model in self.jobs.values():
            model.expired = model.status == "running"

    @rule()
    def reap(self) -> None:
        reaped = {one.id: one.status for one in queue.reap(self.database, {"work": 8})}
        assert set(reaped) == {job_id for job_id, model in self.jobs.items() if model.status == "running" and model.expired}
        for job_id, status in reaped.items():
            model = self.jobs[job_id]
            assert status == ("failed" if model.attempts >= BUDGET else "pending")
            model.status, model.due = status, False

    @rule()
    def let_delays_pass(self) -> None:
        make_due(self.connection)
        for model in self.jobs.values():
            model.due = True

    @invariant()
    def both_say_the_same(self) -> None:
        rows = self.connection.execute("select id, status, attempts, finished_at is null from jobs order by id").fetchall()
        assert rows == [
            (job_id, model.status, model.attempts, model.status in ("pending", "running"))
            for job_id, model in sorted(self.jobs.items())
        ]


@pytest.fixture
def machine(database: Database) -> Iterator[type[Machine]]:
    yield type("BoundMachine", (Machine,), {"database": database})


def test_the_queue_and_a_small_model_of_it_say_the_same(machine: type[Machine]) -> None:
    chosen = settings(
        max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
    )
    run_state_machine_as_test(machine, settings=chosen)
