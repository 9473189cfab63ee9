"""Tenants and priorities: nobody waits behind another's backlog, and nothing urgent behind what is not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from tidemill.db import Database
from tidemill.handlers import Handler
from tidemill.lines import Lines
from tidemill.wire import Connection
from tidemill.worker import Worker

from tests.queue.conftest import Taken, claim, put

MakeWorker = Callable[..., Worker]


class Claimant:
    """Claims as a worker does, one batch after another."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.lines = Lines()
        self.look()

    def look(self) -> None:
        self.lines.scanned(self.database.execute("lines"), 0.0)

    def batch(self, size: int) -> Taken:
        plan = self.lines.plan(size, {}, {}, 1.0)
        found = claim(self.database, plan.entries, size)
        self.lines.took(plan, found.jobs, size, 1.0)
        return found


def put_five_each(connection: Connection, tenants: int) -> None:
    connection.execute(
        "insert into jobs (kind, tenant) select 'work', 't' || i from generate_series(1, %s) i, generate_series(1, 5)",
        (tenants,),
    )


@pytest.fixture
def claimant(database: Database) -> Callable[[], Claimant]:
    return lambda: Claimant(database)


@pytest.mark.parametrize("others", [1, 2_000])
def test_a_single_job_behind_ten_thousand_of_another_tenant_is_claimed_within_two_batches(
    connection: Connection, claimant: Callable[[], Claimant], others: int
) -> None:
    put(connection, 10_000, tenant="big")
    if others > 1:
        put_five_each(connection, others)
    works = claimant()
    works.batch(100)
    (single,) = put(connection, tenant="small")
    works.look()
    assert single in [job.id for _ in range(2) for job in works.batch(100).jobs]


def test_two_thousand_tenants_are_all_served_within_forty_batches(
    connection: Connection, claimant: Callable[[], Claimant]
) -> None:
    """Which is less than a second of work: a large claim takes some of fifty, and each has its turn before one has two."""
    put(connection, 5_000, tenant="big")
    put_five_each(connection, 2_000)
    works = claimant()
    served = {job.tenant for _ in range(41) for job in works.batch(500).jobs}
    assert len(served) == 2_001


def test_a_claim_asks_more_tenants_where_each_has_little(connection: Connection, claimant: Callable[[], Claimant]) -> None:
    connection.execute("insert into jobs (kind, tenant) select 'work', 't' || i from generate_series(1, 2000) i")
    works = claimant()
    sizes = [len(works.batch(500).jobs) for _ in range(5)]
    assert sizes[:2] == [50, 500]
    assert sum(sizes) > 1_500


def test_plans_made_before_their_answers_are_known_ask_everybody_in_turn() -> None:
    lines = Lines()
    lines.scanned([("", f"t{number}", 0, 10, number, -1.0, True) for number in range(100)], 0.0)
    asked = [lines.plan(500, {}, {}, 0.0).shares for _ in range(2)]
    assert [len(shares) for shares in asked] == [50, 50]
    assert len({key for shares in asked for key in shares}) == 100


def test_what_one_tenant_does_not_use_another_gets(connection: Connection, claimant: Callable[[], Claimant]) -> None:
    put(connection, 1_000, tenant="big")
    put(connection, 3, tenant="small")
    works = claimant()
    works.batch(100)
    assert len(works.batch(100).jobs) == 100


def test_urgent_jobs_go_first_and_then_the_older_ones(connection: Connection, worker: MakeWorker) -> None:
    """B47"""
    low = put(connection, 30)
    high = put(connection, 5, priority=5)
    seen: list[int] = []
    worker(Handler("work", lambda job, ctx: seen.append(job.id)), threads=1).drain(120)
    assert seen[:5] == high
    assert [job_id for job_id in seen if job_id in low] == low


def test_low_priorities_are_not_starved_by_endless_urgent_work(connection: Connection, worker: MakeWorker) -> None:
    """B47"""
    (low,) = put(connection, priority=-5)
    put(connection, 20, priority=5)
    seen: list[int] = []

    def handle(job: Any, ctx: Any) -> None:
        seen.append(job.id)
        if low not in seen and len(seen) < 5_000:
            put(connection, 2, priority=5)

    worker(Handler("work", handle), threads=1).drain(120)
    assert low in seen
    assert seen.index(low) < 2_000


def test_a_tenant_that_appears_while_another_is_served_is_served_soon(connection: Connection, worker: MakeWorker) -> None:
    put(connection, 3_000, tenant="big")
    seen: list[str] = []
    inserted: list[int] = []
    lock = threading.Lock()

    def handle(job: Any, ctx: Any) -> None:
        with lock:
            seen.append(job.tenant)
            if len(seen) == 200:
                put(connection, 1, tenant="small")
                inserted.append(len(seen))

    worker(Handler("work", handle), threads=2).drain(120)
    # What was claimed before it came goes first: at most the store and two batches.
    assert seen.index("small") - inserted[0] <= 750 + 2 * 500


def test_a_future_job_of_a_tenant_does_not_hold_up_its_ready_ones(connection: Connection, worker: MakeWorker) -> None:
    """B43"""
    put(connection, 1, run_at="2099-01-01", tenant="t")
    put(connection, 3, tenant="t")
    assert worker(Handler("work", lambda job, ctx: None)).drain(120) == {"done": 3}


def test_a_job_given_an_earlier_time_behind_the_watermark_is_found(connection: Connection, worker: MakeWorker) -> None:
    """A late commit, a returned lease, or a job inserted with a time long past: the loose scan lowers the watermark."""
    put(connection, 200)
    early: list[int] = []

    def handle(job: Any, ctx: Any) -> None:
        if job.kind == "work" and not early:
            early.extend(put(connection, 1, kind="early", run_at="2020-01-01"))

    counts = worker(Handler("work", handle), Handler("early", lambda job, ctx: None), threads=1).drain(120)
    assert counts == {"done": 201}


def test_each_few_claims_another_priority_goes_first(connection: Connection, claimant: Callable[[], Claimant]) -> None:
    """B47"""
    put(connection, 200, priority=5)
    low = set(put(connection, 200))
    works = claimant()
    served = [bool(low & {job.id for job in works.batch(10).jobs}) for _ in range(16)]
    assert served.count(True) >= 1
    assert served[0] is False


def test_a_new_job_of_one_of_many_tenants_that_had_run_dry_is_asked_for() -> None:
    """With more lines than are probed each time, those that ran dry are asked again only when there is news of them."""
    lines = Lines()
    lines.scanned([("", f"t{number}", 0, 10, number, -1.0, True) for number in range(100)], 0.0)
    for _ in range(2):
        lines.took(lines.plan(200, {}, {}, 0.0), [], 200, 0.0)
    assert lines.plan(200, {}, {}, 0.0).shares == {}
    lines.news([("", "t7", 0, 20, 200, 200, -1.0, True)], 0.0)
    assert list(lines.plan(200, {}, {}, 0.0).shares) == [("", "t7")]
