"""The life of a job: enqueue, claim, settle, extend, reap. Every statement is one file; time is the database's.

    pending --claim--> running --settle--> done | failed | discarded
       ^                  |
       +---- settle (retry, snooze, give back), reap (lease expired) ----+

A claim mints a new `claim_id`, the fence: whoever settles or extends must still hold it. What a claimer needs to know about
lines and places is in lines.py and places.py.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol

from tidemill import newjob
from tidemill.db import Database
from tidemill.model import Enqueued, Job, NewJob
from tidemill.wire import Connection, InFlight, Row, run, statement

REAP_SIZE = 500


def enqueue(
    connection: Connection,
    jobs: Sequence[NewJob],
    *,
    limits: Mapping[str, str],
    event_id: int | None = None,
    correlation_id: str | None = None,
) -> list[Enqueued]:
    """Insert jobs, in the caller's transaction if there is one, and say in the same order what became of each.

    `limits` maps a kind to the name of its limit. Raises ValueError or TypeError that names the field, before anything is
    written.
    """
    rows = [newjob.row(job, limits) | {"event_id": event_id, "correlation_id": correlation_id} for job in jobs]
    # In the order of the keys, so that two who enqueue the same ones do not deadlock.
    order = sorted(range(len(rows)), key=lambda index: (rows[index]["kind"], rows[index]["key"] or ""))
    with connection.transaction():
        found = {index: _enqueue_one(connection, rows[index]) for index in order}
    return [found[index] for index in range(len(rows))]


def _enqueue_one(connection: Connection, row: Mapping[str, Any]) -> Enqueued:
    for _ in range(5):
        if rows := run(connection, statement("enqueue"), row):
            return Enqueued(*rows[0])
    raise RuntimeError(f"the key {row['key']!r} of kind {row['kind']!r} is held by a job that this transaction cannot see")


@dataclass(frozen=True)
class Entries:
    """What to claim, as claim.sql takes it: parallel lists of entries, and of the lines that their lo..hi point into."""

    limit_names: list[str] = field(default_factory=list)
    tenants: list[str] = field(default_factory=list)
    shares: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    lo: list[int] = field(default_factory=list)
    hi: list[int] = field(default_factory=list)
    priorities: list[int] = field(default_factory=list)
    mark_times: list[int] = field(default_factory=list)
    mark_ids: list[int] = field(default_factory=list)


class Claim(Protocol):
    """A claim on its way, with the settling of what was done. Each method waits for the answer, and raises
    psycopg.OperationalError where it never comes."""

    size: int  # how many jobs were asked for

    def count(self) -> int:
        """How many jobs it brought."""

    def lost(self) -> list[int]:
        """The ids of the settled batch whose fence was not ours any more."""

    def jobs(self) -> list[Job]:
        """The jobs, the most urgent first."""


class Asked:
    """A Claim by claim.sql."""

    def __init__(self, sent: InFlight, size: int, done: Sequence[tuple[int, int]]) -> None:
        self.size = size
        self._sent = sent
        self._done = done

    def count(self) -> int:
        return self._sent.count() if self._sent.first()[2] is not None else 0

    def lost(self) -> list[int]:
        settled, count = self._sent.first()[:2]
        return [] if len(self._done) == count else [one[0] for one in self._done if one[0] not in set(settled or ())]

    def jobs(self) -> list[Job]:
        rows = self._sent.rows()
        jobs = [] if rows[0][2] is None else [job_of(row[2:]) for row in rows]
        jobs.sort(key=_urgency)  # an update returns its rows in no order
        return jobs


def ask(
    database: Database,
    entries: Entries,
    size: int,
    *,
    claim_id: int,
    lease: float,
    holder: int,
    worker: str,
    done: Sequence[tuple[int, int]] = (),
) -> Asked:
    """Settle `done` (ids with their claim ids) and take up to `size` due jobs for `lease` seconds under the fence
    `claim_id` (see `new_claim_id`)."""
    parameters = {
        "limit_names": entries.limit_names, "tenants": entries.tenants, "shares": array(entries.shares),
        "held": array(entries.held), "lo": array(entries.lo), "hi": array(entries.hi),
        "priorities": array(entries.priorities), "mark_times": array(entries.mark_times),
        "mark_ids": array(entries.mark_ids), "size": size, "lease": lease, "holder": holder, "worker": worker,
        "claim_id": claim_id, "done": array([one[0] for one in done]), "done_claims": array({one[1] for one in done}),
    }  # fmt: skip
    return Asked(database.send("claim_limited" if any(entries.held) else "claim", parameters), size, done)


def array(numbers: Iterable[int]) -> str:
    """Numbers as the text of an array: to let psycopg dump a list is what costs most in a large batch."""
    return f"{{{','.join(map(str, numbers))}}}"


job_of: Callable[[Row], Job] = partial(tuple.__new__, Job)  # Job._make, in a third of its time


def _urgency(job: Job) -> tuple[int, int, int]:
    return -job.priority, job.run_at_us, job.id


def new_claim_id() -> int:
    """A fence that no other claim has. Made here and not by a sequence, on which a connection proxy would pin."""
    return secrets.randbits(62)


def abandon(database: Database, claim_ids: Sequence[int]) -> None:
    """Give back the jobs of claims whose answers never came."""
    database.execute("abandon", {"claims": list(claim_ids)})


class Settlement(NamedTuple):
    """The end of one attempt. `status` is what the job becomes; `delay` seconds from now (None: run_at stays); `unused` 1
    gives the attempt back; `limit_name` moves it to another limit; `unknown` marks that nobody knew its kind; `sent` True
    sends it out through the outbox, False marks that it is out no more."""

    id: int
    claim_id: int
    status: str
    delay: float | None = None
    unused: int = 0
    error_class: str | None = None
    error: str | None = None
    result: str | None = None
    limit_name: str | None = None
    unknown: bool = False
    sent: bool | None = None


def settle(
    database: Database, settlements: Iterable[Settlement], *, log_stream: str | None = None, request_id: str | None = None
) -> set[int]:
    """End attempts, each only where its claim is still held; returns the ids that were. A counted error (`unused` 0) is
    recorded in job_errors with the log stream and request id."""
    rows = list(settlements)
    if not rows:
        return set()
    ids, claims, statuses, delays, unused, classes, errors, results, limit_names, unknown, sent = map(
        list, zip(*rows, strict=True)
    )
    settled = database.execute("settle", {
        "ids": ids, "claims": claims, "statuses": statuses, "delays": delays, "unused": unused, "error_classes": classes,
        "errors": errors, "results": results, "limit_names": limit_names, "unknown": unknown, "sent": sent,
        "log_stream": log_stream, "request_id": request_id,
    })  # fmt: skip
    return {row[0] for row in settled}


def give_back(job: Job, delay: float | None = None, **changes: Any) -> Settlement:
    """The settlement of a job that was claimed and not started: back to the line, no attempt used."""
    return Settlement(job.id, job.claim_id, "pending", delay=delay, unused=1, **changes)


def extend(database: Database, jobs: Sequence[Job], *, lease: float, holder: int) -> set[int]:
    """Extend the leases of running jobs to `lease` seconds from now; returns the ids that are still ours."""
    if not jobs:
        return set()
    ids, claims = [job.id for job in jobs], list({job.claim_id for job in jobs})
    rows = database.execute("extend", {"ids": ids, "claims": claims, "lease": lease, "holder": holder})
    return {row[0] for row in rows}


class Reaped(NamedTuple):
    """A job whose lease ran out, and what became of it."""

    id: int
    kind: str
    status: str
    attempts: int
    error_class: str
    error: str
    correlation_id: str | None


def reap(database: Database, max_attempts: Mapping[str, int]) -> list[Reaped]:
    """Return every job whose lease ran out to its line, or end it when its attempts are used up.

    `max_attempts` has the kinds that are known here; a job of another kind waits a minute and loses no attempt.
    """
    found: list[Reaped] = []
    parameters = {"kinds": list(max_attempts), "max_attempts": list(max_attempts.values()), "size": REAP_SIZE}
    while True:
        rows = database.execute("reap", parameters)
        found.extend(Reaped._make(row) for row in rows)
        if len(rows) < REAP_SIZE:
            return found
