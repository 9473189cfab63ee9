"""What a replay makes of each job that the route yields today, decided from the jobs there are. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tidemill.model import NewJob
from tidemill.newjob import key_text


class Found(NamedTuple):
    """A job as commands see it. `freed_key` is the key it had until it was cancelled, `copy_of` the job it does again."""

    id: int
    kind: str
    key: str | None
    freed_key: str | None
    status: str
    copy_of: int | None
    event_id: int | None


class Step(NamedTuple):
    """What becomes of a yielded job: `outcome` is created, kept, redriven or exists. `found` is the job it was matched with;
    a created one does that one again. `message` says what a person must know."""

    job: NewJob
    outcome: str
    found: Found | None = None
    message: str | None = None


def plan(
    yielded: Iterable[NewJob], own: Sequence[Found], holders: Mapping[tuple[str, str], Found], *, force: bool
) -> list[Step]:
    """One step for each yielded job; of those with one kind and key the first counts, as it does in the intake.

    `own` are the event's jobs in the order of their ids; `holders` says which job of any event holds a kind and key.
    """
    jobs = _first_of_each_key(yielded)
    own_ids = {one.id for one in own}
    copies = {one.copy_of: one for one in own if one.copy_of is not None}
    steps: list[Step] = []
    for job, original in zip(jobs, _match(jobs, own), strict=True):
        found = original or holders.get((job.kind, key_text(job.key) or ""))
        newest = copies.get(found.copy_of or found.id, found) if found else None
        steps.append(_step(job, newest, foreign=newest is not None and newest.id not in own_ids, force=force))
    return steps


def held_by_another(found: Found) -> str:
    """The message where a job of another event holds the key."""
    event = f"of event {found.event_id}" if found.event_id is not None else "of no event"
    return f"its key is held by job {found.id} {event}, which is {found.status}"


def _first_of_each_key(yielded: Iterable[NewJob]) -> list[NewJob]:
    keys: set[tuple[str, str]] = set()
    jobs: list[NewJob] = []
    for job in yielded:
        key = key_text(job.key)
        if key is None or (job.kind, key) not in keys:
            jobs.append(job)
            keys.add((job.kind, key or ""))
    return jobs


def _match(jobs: Sequence[NewJob], own: Sequence[Found]) -> list[Found | None]:
    """By key; what that leaves by kind and order, where a job with a key is never matched with one that has another key."""
    originals = [one for one in own if one.copy_of is None]
    by_key = {(one.kind, key): one for one in originals if (key := one.key or one.freed_key) is not None}
    matched = [by_key.get((job.kind, key)) if (key := key_text(job.key)) is not None else None for job in jobs]
    taken = {one.id for one in matched if one}
    left: dict[tuple[str, bool], deque[Found]] = defaultdict(deque)
    for one in originals:
        if one.id not in taken:
            left[one.kind, (one.key or one.freed_key) is not None].append(one)
    for index, job in enumerate(jobs):
        if matched[index] is None:
            fitting = [left[job.kind, keyed] for keyed in (False, True) if not keyed or key_text(job.key) is None]
            if rows := [row for row in fitting if row]:
                matched[index] = min(rows, key=lambda row: row[0].id).popleft()
    return matched


def _step(job: NewJob, found: Found | None, *, foreign: bool, force: bool) -> Step:
    if found is None:
        return Step(job, "created")
    if foreign:
        return Step(job, "created", found) if force else Step(job, "exists", found, held_by_another(found))
    match found.status:
        case "pending" | "running":
            return Step(job, "kept", found)
        case "failed":
            return Step(job, "redriven", found)
        case _:  # done or discarded
            return Step(job, "created" if force else "exists", found)
