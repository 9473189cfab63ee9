"""What a run left behind: the answers that were given, the rows that are there, and what the witnesses saw."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from tests.chaos.ground import Hands
from tests.chaos.plan import Plan
from tests.chaos.provider import Charge, Provider
from tests.chaos.sender import Sender, Taken
from tests.chaos.slots import Journal


class Event(NamedTuple):
    id: int
    source: str
    dedup_key: str
    correlation_id: str
    route_error: str | None


class Job(NamedTuple):
    id: int
    kind: str
    status: str
    attempts: int
    purpose: str | None  # what it was made for: one thing to do, the same in a copy
    parent: int | None
    event_id: int | None
    copy_of: int | None
    correlation_id: str | None
    slot: str | None
    key: str | None
    error_class: str | None
    last_error: str | None
    alerted: bool
    finished: bool


class Failure(NamedTuple):
    """A row of job_errors; `process` is the worker's process id, None where no worker is named."""

    job_id: int
    attempt: int
    process: int | None


class Move(NamedTuple):
    """A step of a job, as the database saw it; `by` is the slot whose process took it."""

    job_id: int
    was: str | None
    became: str
    claim_id: int | None
    leased: bool
    by: str


class Start(NamedTuple):
    """A handler was started."""

    job_id: int
    claim_id: int
    attempt: int
    process: int
    correlation_id: str | None


class Seen(NamedTuple):
    """A schedule: all its slots after `first_seen` up to `last_slot` should have been enqueued."""

    name: str
    first_seen: datetime
    last_slot: datetime | None


@dataclass(frozen=True)
class Evidence:
    plan: Plan
    taken: list[Taken]
    refused: list[int]
    events: list[Event]
    jobs: list[Job]
    failures: list[Failure]
    moves: list[Move]
    starts: list[Start]
    schedules: list[Seen]
    written: set[int]
    cancelled: set[int]
    charges: list[Charge]
    most_inside: int
    crowds: list[list[str]]
    told: list[str]
    troubled: frozenset[int]  # processes that died, lost a lease or lost touch
    troubles: list[str]
    failures_of_functions: Counter[str]  # by the type of the error
    numbers: dict[str, int] = field(default_factory=dict)  # what else is worth telling

    def moves_of(self) -> dict[int, list[Move]]:
        """The steps of each job, in order."""
        found: dict[int, list[Move]] = defaultdict(list)
        for move in self.moves:
            found[move.job_id].append(move)
        return found


def gather(
    *,
    plan: Plan,
    hands: Hands,
    journal: Journal,
    senders: Sequence[Sender],
    provider: Provider,
    told: list[str],
    starts: Path,
    troubles: list[str],
    faults: Counter[str],
    commands: Counter[str],
    lost: int,
    late: int,
) -> Evidence:
    """Read it all, once everything has ended."""

    def rows(text: str) -> list[tuple[Any, ...]]:
        return hands.run(text)

    return Evidence(
        plan=plan,
        taken=[one for sender in senders for one in sender.taken],
        refused=[status for sender in senders for status in sender.refused],
        events=[Event._make(row) for row in rows(
            "select id, source, dedup_key, correlation_id, route_error from events order by id")],
        jobs=[Job._make(row) for row in rows(
            "select id, kind, status, attempts, payload ->> 'purpose', (payload ->> 'parent')::bigint, event_id, copy_of,"
            " correlation_id, slot, key, error_class, last_error, alerted_at is not null, finished_at is not null"
            " from jobs order by id")],
        failures=[Failure._make(row) for row in rows(
            "select job_id, attempt, substring(worker from ':([0-9]+)$')::int from job_errors order by id")],
        moves=[Move._make(row) for row in rows(
            "select job_id, was, became, claim_id, leased, by from witness.moves order by id")],
        starts=[Start._make(json.loads(line)) for line in starts.read_text().splitlines()],
        schedules=[Seen._make(row) for row in rows("select name, first_seen, last_slot from schedules order by name")],
        written={row[0] for row in rows("select job_id from written")},
        cancelled={row[0] for row in rows(
            "select (outcome ->> 'job')::bigint from operations where command = 'cancel' and outcome ? 'status'")},
        charges=list(provider.charges.values()),
        most_inside=provider.most_inside,
        crowds=provider.crowds,
        told=told,
        troubled=journal.troubled(),
        troubles=troubles,
        failures_of_functions=journal.failures,
        numbers={
            "requests of senders": sum(sender.tries for sender in senders),
            "processes that died": journal.deaths,
            "answers of the database that were lost": lost,
            "words that reached the database late": late,
            "charges asked for again": provider.replays,
            "operators' commands": sum(commands.values()),
            **{f"invocations that ended with {what}": count for what, count in sorted(journal.failures.items())},
            **{f"fault: {what}": count for what, count in sorted(faults.items())},
            **{f"command: {what}": count for what, count in sorted(commands.items())},
            **{f"provider: {mood}": count for mood, count in sorted(provider.moods.items())},
        },
    )  # fmt: skip
