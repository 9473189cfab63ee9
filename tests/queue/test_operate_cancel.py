"""cancel, on a real database: the job is discarded and its key free."""

from __future__ import annotations

import pytest
from tidemill import queue
from tidemill.model import NewJob
from tidemill.wire import Connection

from tests.queue.operating import LIMITS, add_job, one, operations, operator


@pytest.mark.parametrize("status", ["pending", "failed"])
def test_cancel_discards_a_job_and_frees_its_key(database_url: str, connection: Connection, status: str) -> None:
    job = add_job(connection, status=status, key="17")
    answer = operator(database_url).run({"command": "cancel", "job": job, "by": "ann"})
    assert answer == {"ok": True, "job": job, "status": "discarded"}
    row = one(
        connection, "select status, finished_at is not null, failed_at, key, freed_key, error_class, last_error from jobs"
    )
    assert row == ("discarded", True, None, None, "17", "Cancelled", "cancelled by ann")
    [enqueued] = queue.enqueue(connection, [NewJob("order.total", key="17")], limits=LIMITS)
    assert enqueued.created
    outcome = {"job": job, "status": "discarded", "was": status, "freed_key": "17"}
    assert operations(connection) == [("ann", "cancel", {"job": job}, outcome)]


@pytest.mark.parametrize("status", ["running", "done", "discarded"])
def test_only_a_pending_or_failed_job_can_be_cancelled(database_url: str, connection: Connection, status: str) -> None:
    """B71"""
    job = add_job(connection, status=status, key="17")
    error = operator(database_url).run({"command": "cancel", "job": job})["error"]
    assert error["code"] == "conflict" and f"is {status}" in error["message"]
    assert one(connection, "select status, key from jobs") == (status, "17")


def test_a_failed_job_keeps_its_key_until_it_is_cancelled(database_url: str, connection: Connection) -> None:
    job = add_job(connection, status="failed", key="17")
    [held] = queue.enqueue(connection, [NewJob("order.total", key="17")], limits=LIMITS)
    assert (held.id, held.created, held.status) == (job, False, "failed")


def test_force_brings_a_cancelled_job_back_under_a_new_key(database_url: str, connection: Connection) -> None:
    job = add_job(connection, key="17")
    operator(database_url).run({"command": "cancel", "job": job})
    new = operator(database_url).run({"command": "retry", "job": job, "force": True})["job"]
    assert one(connection, "select key, copy_of, status from jobs where id = %s", new) == ("17:2", job, "pending")
