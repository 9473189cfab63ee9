"""Each claim sees what contradicts it: evidence of a run that went well, with one thing changed at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.chaos.claims import CLAIMS, judge
from tests.chaos.evidence import Event, Evidence, Failure, Job, Move, Seen, Start
from tests.chaos.plan import Delivery, Insert, Plan
from tests.chaos.provider import Charge
from tests.chaos.sender import Taken

DELIVERY = Delivery(1, ("charge", "killer", "write"))
MIDNIGHT = datetime(2027, 4, 30, tzinfo=UTC)


def job(number: int, kind: str, status: str = "done", attempts: int = 1, **fields: Any) -> Job:
    story = {"event_id": 1, "correlation_id": "story-1"} if number < 4 else {}
    error = {"error_class": "E", "last_error": "no"} if status == "failed" else {}
    values = {
        "purpose": None, "parent": None, "event_id": None, "copy_of": None, "correlation_id": None, "slot": None,
        "key": None, "error_class": None, "last_error": None, "alerted": status == "failed", "finished": True,
    }  # fmt: skip
    return Job(number, f"chaos.{kind}", status, attempts, **{**values, **story, **error, **fields})


def life(number: int, claim: int = 0, by: str = "drain0") -> list[Move]:
    claim = claim or number
    return [
        Move(number, None, "pending", None, False, "intake0"),
        Move(number, "pending", "running", claim, False, by),
        Move(number, "running", "done", claim, True, by),
    ]


def killed(number: int) -> list[Move]:
    moves = [Move(number, None, "pending", None, False, "intake0")]
    for claim in (20, 21, 22):
        moves.append(Move(number, "pending", "running", claim, False, "drain1"))
        moves.append(Move(number, "running", "failed" if claim == 22 else "pending", claim, False, "schedule0"))
    return moves


SLOT = "2027-04-30T00:00:00+00:00"
GOOD = Evidence(
    plan=Plan(1, 1, (DELIVERY,), (), (Insert(0, "ok", "insert-0", ""),), (), (), ()),
    taken=[Taken(DELIVERY, 1, False), Taken(DELIVERY, 1, True)],
    refused=[401],
    events=[Event(1, "chaos", "delivery-1", "story-1", None)],
    jobs=[
        job(1, "charge", purpose="delivery-1:0"),
        job(2, "killer", "failed", 3, purpose="delivery-1:1"),
        job(3, "write", purpose="delivery-1:2"),
        job(4, "child", purpose="child of 3", parent=3, correlation_id="story-1"),
        job(5, "ok", purpose="insert-0"),
        job(6, "tide", slot=SLOT, key=f"tide-0:{SLOT}", correlation_id="own"),
    ],
    failures=[Failure(2, 1, 9), Failure(2, 2, 9), Failure(2, 3, 9)],
    moves=[*life(1), *killed(2), *life(3), *life(4), *life(5), *life(6)],
    starts=[
        Start(1, 1, 1, 8, "story-1"), Start(2, 20, 1, 9, "story-1"), Start(2, 21, 2, 9, "story-1"),
        Start(2, 22, 3, 9, "story-1"), Start(3, 3, 1, 8, "story-1"), Start(4, 4, 1, 8, "story-1"), Start(5, 5, 1, 8, None),
        Start(6, 6, 1, 8, "own"),
    ],
    schedules=[Seen("tide-0", MIDNIGHT.replace(day=29, hour=7), MIDNIGHT)],
    written={3},
    cancelled=set(),
    charges=[Charge("chaos.charge 1", "delivery-1:0", "story-1")],
    most_inside=3,
    crowds=[["a"], ["a", "b"], ["a", "b", "c"]],
    told=["Job 2 (chaos.killer) failed for good"],
    troubled=frozenset(),
    troubles=[],
    failures_of_functions=Counter({"OperationalError": 2, "Runtime.ExitError": 1}),
)  # fmt: skip


def with_job(number: int, **fields: Any) -> list[Job]:
    return [one._replace(**fields) if one.id == number else one for one in GOOD.jobs]


def without(rows: list[Any], *numbers: int) -> list[Any]:
    return [row for place, row in enumerate(rows) if place not in numbers]


def stolen(moves: list[Move]) -> list[Move]:
    """The last step of job 1, by somebody else."""
    return [one._replace(by="drain2") if (one.job_id, one.was) == (1, "running") else one for one in moves]


FORGED = Event(2, "chaos", "delivery--2", "story--2", None)
AGAIN = job(7, "charge", purpose="delivery-1:0", event_id=1, correlation_id="story-1")
BAD: list[tuple[str, dict[str, Any]]] = [
    ("every 202 has its event", {"events": []}),
    ("every 202 has its event", {"taken": [Taken(DELIVERY, 2, False)]}),
    ("every 202 has its event", {"taken": [Taken(DELIVERY, 1, False)] * 2}),
    ("nothing else was stored", {"events": [*GOOD.events, FORGED]}),
    ("nothing else was stored", {"events": []}),
    ("nothing else was stored", {"refused": [202]}),
    ("every event has its jobs", {"jobs": without(GOOD.jobs, 0)}),
    ("every event has its jobs", {"jobs": [*GOOD.jobs, AGAIN]}),
    ("every event has its jobs", {"events": [GOOD.events[0]._replace(route_error="no")]}),
    ("each plain insert made one job", {"jobs": without(GOOD.jobs, 4)}),
    ("each plain insert made one job", {"jobs": [*GOOD.jobs, job(7, "ok", purpose="insert-0")]}),
    ("each slot has one job", {"jobs": without(GOOD.jobs, 5)}),
    ("each slot has one job", {"jobs": [*GOOD.jobs, GOOD.jobs[5]._replace(id=7)]}),
    ("each slot has one job", {"schedules": [GOOD.schedules[0]._replace(last_slot=None)]}),
    ("no correlation id was lost", {"events": [GOOD.events[0]._replace(correlation_id="")]}),
    ("no correlation id was lost", {"jobs": with_job(1, correlation_id=None)}),
    ("no correlation id was lost", {"jobs": with_job(4, correlation_id="own")}),
    ("no correlation id was lost", {"jobs": with_job(6, correlation_id=None)}),
    ("no correlation id was lost", {"starts": [GOOD.starts[0]._replace(correlation_id=None), *GOOD.starts[1:]]}),
    ("no correlation id was lost", {"charges": [GOOD.charges[0]._replace(correlation_id="")]}),
    ("every job came to its end", {"jobs": with_job(1, status="pending", finished=False)}),
    ("every job came to its end", {"jobs": with_job(2, status="done")}),
    ("every job came to its end", {"jobs": with_job(2, last_error=None)}),
    ("every job came to its end", {"jobs": with_job(1, status="discarded", error_class="Cancelled")}),
    ("every step was a right one", {"moves": [*GOOD.moves, Move(1, "done", "pending", 1, False, "operator")]}),
    ("every step was a right one", {"moves": without(GOOD.moves, 1)}),
    ("every step was a right one", {"moves": [*GOOD.moves, Move(2, "failed", "pending", 22, False, "drain0")]}),
    ("every step was a right one", {"moves": [one._replace(leased=True) for one in GOOD.moves]}),
    ("every step was a right one", {"jobs": with_job(1, status="failed")}),
    ("only the holder of a claim ended it", {"moves": stolen(GOOD.moves)}),
    ("no claim was started twice", {"starts": [*GOOD.starts, GOOD.starts[0]]}),
    ("no claim was started twice", {"starts": [*GOOD.starts, Start(1, 99, 2, 8, "story-1")]}),
    ("no claim was started twice", {"starts": without(GOOD.starts, 0)}),
    ("every failed attempt is on record", {"failures": without(GOOD.failures, 1)}),
    ("every failed attempt is on record", {"jobs": with_job(1, attempts=2)}),
    ("a killer had its attempts and no more", {"starts": [*GOOD.starts, Start(2, 23, 4, 9, "story-1")]}),
    ("a killer had its attempts and no more", {"jobs": with_job(2, attempts=4)}),
    ("a killer had its attempts and no more",
     {"starts": without(GOOD.starts, 2), "failures": [one._replace(process=8) for one in GOOD.failures]}),
    ("no limit was exceeded", {"crowds": [["a", "b", "c", "d"]]}),
    ("each charge happened once", {"charges": [*GOOD.charges, GOOD.charges[0]._replace(key="other")]}),
    ("each charge happened once", {"charges": []}),
    ("a row and its job came together", {"written": set()}),
    ("a row and its job came together", {"jobs": without(GOOD.jobs, 3)}),
    ("a row and its job came together", {"jobs": [*GOOD.jobs, GOOD.jobs[3]._replace(id=7)]}),
    ("somebody was told of the dead", {"jobs": with_job(2, alerted=False)}),
    ("somebody was told of the dead", {"told": ["Job 3 (chaos.write) failed for good"]}),
    ("functions failed only with the database", {"failures_of_functions": Counter({"KeyError": 1})}),
    ("functions failed only with the database", {"troubles": ["sender 0: it raised"]}),
]  # fmt: skip


def test_a_run_that_went_well_contradicts_nothing() -> None:
    assert [verdict for verdict in judge(GOOD) if verdict.faults] == []


@pytest.mark.parametrize(("claim", "change"), BAD)
def test_a_claim_sees_what_contradicts_it(claim: str, change: dict[str, Any]) -> None:
    assert claim in [verdict.claim for verdict in judge(replace(GOOD, **change)) if verdict.faults]


def test_every_claim_can_be_contradicted() -> None:
    assert {claim for claim, _ in BAD} == {one.__name__.replace("_", " ") for one in CLAIMS}


def test_a_killer_whose_neighbour_took_an_attempt_is_excused() -> None:
    verdicts = judge(replace(GOOD, starts=without(GOOD.starts, 2), troubled=frozenset({9})))
    assert [verdict for verdict in verdicts if verdict.faults] == []


def test_dead_jobs_may_be_told_together() -> None:
    for text in ("Job 7 (x) failed for good\n(and 2 more like it: 2, 8)", "3 alerts\n\nand 2 others, which are in the log"):
        assert not [verdict for verdict in judge(replace(GOOD, told=[text])) if verdict.faults]
