"""What a replay makes of each job that the route yields, decided without a database."""

from __future__ import annotations

import pytest
from tidemill.model import NewJob
from tidemill.operate.plan import Found, Step, plan

EVENT = 7


def found(number: int, kind: str = "a", key: str | None = None, status: str = "done", **fields: object) -> Found:
    values = {"freed_key": None, "copy_of": None, "event_id": EVENT, **fields}
    return Found(id=number, kind=kind, key=key, status=status, **values)  # type: ignore[arg-type]


def short(steps: list[Step]) -> list[tuple[str, int | None]]:
    return [(step.outcome, step.found.id if step.found else None) for step in steps]


def planned(
    yielded: list[NewJob], *own: Found, force: bool = False, holder: Found | None = None
) -> list[tuple[str, int | None]]:
    holders = {(holder.kind, holder.key or ""): holder} if holder else {}
    return short(plan(yielded, own, holders, force=force))


@pytest.mark.parametrize(
    ("status", "outcome", "forced"),
    [
        ("pending", "kept", "kept"),
        ("running", "kept", "kept"),
        ("failed", "redriven", "redriven"),
        ("done", "exists", "created"),
        ("discarded", "exists", "created"),
    ],
)
@pytest.mark.parametrize("key", ["17", None])
def test_the_outcome_follows_the_status(status: str, outcome: str, forced: str, key: str | None) -> None:
    job = found(1, key=key, status=status)
    assert planned([NewJob("a", key=key)], job) == [(outcome, 1)]
    assert planned([NewJob("a", key=key)], job, force=True) == [(forced, 1)]


def test_a_job_that_the_event_has_not_is_created() -> None:
    assert planned([NewJob("b"), NewJob("a", key="18")], found(1, key="17")) == [("created", None)] * 2


def test_jobs_match_by_key_whatever_their_order() -> None:
    own = [found(1, key="x"), found(2, key="y", status="failed")]
    assert planned([NewJob("a", key="y"), NewJob("a", key="x")], *own) == [("redriven", 2), ("exists", 1)]


def test_a_key_is_of_its_kind() -> None:
    assert planned([NewJob("b", key="x")], found(1, "a", "x")) == [("created", None)]


def test_a_number_and_its_text_are_one_key() -> None:
    assert planned([NewJob("a", key=42)], found(1, key="42")) == [("exists", 1)]


def test_jobs_without_a_key_match_by_kind_and_order() -> None:
    own = [found(1, "a"), found(2, "b", status="failed"), found(3, "a", status="failed")]
    yielded = [NewJob("a"), NewJob("a"), NewJob("b"), NewJob("a")]
    assert planned(yielded, *own) == [("exists", 1), ("redriven", 3), ("redriven", 2), ("created", None)]


def test_a_keyed_match_goes_before_a_match_by_order() -> None:
    assert planned([NewJob("a"), NewJob("a", key="x")], found(1, key="x"), found(2)) == [("exists", 2), ("exists", 1)]


def test_a_route_that_gave_up_its_keys_still_finds_its_jobs() -> None:
    own = [found(1, key="x"), found(2), found(3, key="y", status="failed")]
    assert planned([NewJob("a"), NewJob("a"), NewJob("a")], *own) == [("exists", 1), ("exists", 2), ("redriven", 3)]


def test_a_route_that_took_up_keys_still_finds_its_jobs() -> None:
    assert planned([NewJob("a", key="x")], found(1)) == [("exists", 1)]


def test_a_cancelled_job_is_found_by_the_key_it_had() -> None:
    cancelled = found(1, status="discarded", freed_key="x")
    assert planned([NewJob("a", key="x")], cancelled) == [("exists", 1)]
    assert planned([NewJob("a", key="y")], cancelled) == [("created", None)]


def test_of_a_key_that_the_route_yields_twice_the_first_counts() -> None:
    assert planned([NewJob("a", 1, key="x"), NewJob("a", 2, key="x"), NewJob("b", key="x")]) == [("created", None)] * 2


@pytest.mark.parametrize(("status", "outcome"), [("pending", "kept"), ("failed", "redriven"), ("done", "exists")])
def test_the_newest_copy_stands_for_its_job(status: str, outcome: str) -> None:
    own = [found(1, key="x"), found(2, key="x:2", copy_of=1), found(3, key="x:3", copy_of=1, status=status)]
    assert planned([NewJob("a", key="x")], *own) == [(outcome, 3)]


def test_a_copy_is_not_matched_by_order() -> None:
    assert planned([NewJob("a"), NewJob("a")], found(1), found(2, copy_of=1)) == [("exists", 2), ("created", None)]


@pytest.mark.parametrize(("event", "words"), [(3, "of event 3"), (None, "of no event")])
def test_a_key_of_another_event_is_said_and_never_a_silent_ok(event: int | None, words: str) -> None:
    """B72"""
    holder = found(9, key="x", status="pending", event_id=event)
    [step] = plan([NewJob("a", key="x")], [], {("a", "x"): holder}, force=False)
    assert (step.outcome, step.message) == ("exists", f"its key is held by job 9 {words}, which is pending")


def test_force_takes_up_what_another_event_did_once() -> None:
    holder = found(9, key="x", event_id=3)
    assert planned([NewJob("a", key="x")], holder=holder, force=True) == [("created", 9)]
    copy = found(10, key="x:2", copy_of=9, status="pending")
    assert planned([NewJob("a", key="x")], copy, holder=holder, force=True) == [("kept", 10)]


def test_an_event_of_ten_thousand_jobs_is_planned_at_once() -> None:
    own = [found(number, key=f"old {number}") for number in range(10_000)]
    assert planned([NewJob("a", key=f"new {number}") for number in range(10_000)], *own) == [("created", None)] * 10_000
