"""What a drain has in hand: the jobs that it has claimed and not yet settled.

A job comes into hand by a claim and leaves it when its end is settled, or when its lease turns out to be lost. What could
not be settled because the database was away stays, and is settled with the next look.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import psycopg

from tidemill import queue
from tidemill.claimer import Claims
from tidemill.context import Tools
from tidemill.db import Database
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.outcome import PLAINLY_DONE, Outcome
from tidemill.queue import Claim, Settlement, give_back
from tidemill.report import Report
from tidemill.runners import Ended, Work
from tidemill.settlement import UNKNOWN, refused_by_a_drain, settlement_of, word


@dataclass(frozen=True)
class Parts:
    """What a worker is made of. `name` is the worker's, as it stands in the rows that it claims; `threads` run jobs at once;
    a claim holds for `lease` seconds, and is extended; an empty line is watched for `linger` seconds for a job that is due
    by then; `tell(job, error_class, error)` hears of each job that failed for good, and neither blocks nor raises; `refuse`
    says how a claimed job goes back that must not start here, `settle` how an outcome ends an attempt."""

    database: Database
    handlers: Mapping[str, Handler]
    tools: Tools
    name: str
    threads: int
    lease: float
    linger: float
    tell: Callable[[Job, str, str], None]
    refuse: Callable[[Job, Handler | None], Settlement | None] = refused_by_a_drain
    settle: Callable[[Job, Handler, Outcome], Settlement] = settlement_of


class Hand:
    """`report` hears of each attempt; `extended` is when the leases were last known to hold (monotonic seconds)."""

    def __init__(self, parts: Parts, claimer: Claims, report: Report, log_stream: str, request_id: str) -> None:
        self.extended = time.monotonic()
        self._parts = parts
        self._claimer = claimer
        self._report = report
        self._log = parts.tools.log
        self._request = {"log_stream": log_stream or None, "request_id": request_id or None}
        self._jobs: dict[int, Work] = {}
        self._done: list[tuple[int, int]] = []  # plainly done: settled together with the next claim
        self._settling: list[tuple[int, int]] = []  # on their way with the claim that was sent last
        self._asked: Claim | None = None  # that claim, until its answer is there
        self._arrived: Claim | None = None  # one whose answer is there, and whose jobs are not in hand yet
        self._unreported: list[Ended] = []  # plainly done, and not yet said
        self._unsettled: list[Settlement] = []  # ended in another way, by a statement of its own

    def __len__(self) -> int:
        return len(self._jobs)

    def __bool__(self) -> bool:
        return bool(self._jobs) or self.expects

    def __contains__(self, job_id: object) -> bool:
        return job_id in self._jobs

    @property
    def started_or_waiting(self) -> int:
        """How many have not plainly ended."""
        return len(self._jobs) - len(self._done) - len(self._settling)

    @property
    def expects(self) -> bool:
        """A claim is on its way, or has arrived and was not taken."""
        return self._asked is not None or self._arrived is not None

    @property
    def arriving(self) -> int:
        """How many jobs have arrived and were not taken into hand."""
        return self._arrived.count() if self._arrived else 0

    @property
    def brims(self) -> bool:
        """What has arrived is as much as was asked for, so that there is likely more."""
        return self._arrived is not None and self._arrived.count() == self._arrived.size > 0

    @property
    def unsettled(self) -> bool:
        """Something waits for `settle`."""
        return bool(self._unsettled)

    def ask(self, size: int, now: float) -> None:
        """Send for up to `size` jobs, and settle what is plainly done with it. Raises psycopg.OperationalError."""
        if not size and not self._done:
            return
        idle = max(self._parts.threads - self.started_or_waiting, 0)
        self._asked = self._claimer.ask(self._done, size, idle, now)
        if self._asked:
            self._settling, self._done = self._done, []

    def arrive(self) -> None:
        """Wait for the answer to the claim that was sent last, if there is one. What is done is settled then; the jobs that
        it brought are taken by `take`. Raises psycopg.OperationalError."""
        if self._asked is None:
            return
        asked, self._asked = self._asked, None
        done, self._settling = self._settling, []
        try:
            lost = self._claimer.arrived(asked)
        except psycopg.OperationalError:
            self._done = done + self._done
            raise
        self._arrived = asked
        for job_id, _ in done:
            self._let_go(job_id)
        for job_id in lost:
            self._say_lost(job_id)

    def take(self, now: float) -> tuple[int, list[Work]]:
        """Take what has arrived into hand: how many jobs, and those that may start."""
        arrived, self._arrived = self._arrived, None
        jobs = self._claimer.take(arrived, now) if arrived else []
        taken = [self._take(job, now) for job in jobs]
        return len(taken), [work for work in taken if work is not None]

    def note(self, ended: Iterable[Ended]) -> list[Ended]:
        """Note the ends of attempts; answers those that did not plainly end. One whose lease was lost is passed over: that
        was said then."""
        others = []
        for one in ended:
            job = one.work.job
            if self._jobs.get(job.id) is not one.work:
                continue
            if one.outcome is PLAINLY_DONE:
                self._done.append((job.id, job.claim_id))
                self._unreported.append(one)
            else:
                self._end(job, self._parts.settle(job, one.work.handler, one.outcome), one.seconds)
                others.append(one)
        return others

    def report(self) -> None:
        """Say what has ended: a write lets go of the interpreter's lock, and busy threads give it back late, so it is called
        where they are idle, or a claim is on its way."""
        self._report.done(self._unreported)
        self._unreported.clear()
        self._report.flush()

    def line(self, work: Work, outcome: Outcome, seconds: float) -> str:
        """What the log says of an attempt that plainly ended; called in the thread that ran it, since it is as dear as all
        the rest that an end costs. '' for another, whose settlement is yet to be found."""
        return self._report.line(work.job, "done", seconds) if outcome is PLAINLY_DONE else ""

    def give_back(self, unstarted: Iterable[Work]) -> None:
        """Note that these were not started; no attempt is used."""
        self._unsettled += [give_back(work.job) for work in unstarted]

    def settle(self) -> None:
        """Settle what needs a statement of its own. Raises psycopg.OperationalError."""
        if not self._unsettled:
            return
        settled = queue.settle(self._parts.database, self._unsettled, **self._request)
        settlements, self._unsettled = self._unsettled, []
        for settlement in settlements:
            work = self._let_go(settlement.id)
            if settlement.sent:
                self._parts.tools.published.set()
            if settlement.id not in settled:
                self._say_lost(settlement.id)
            elif settlement.status == "failed" and work is not None:
                self._parts.tell(work.job, settlement.error_class or "", settlement.error or "")

    def extend(self, now: float) -> None:
        """Extend all leases when a third of their time is over; what is lost is let go. Raises psycopg.OperationalError."""
        if now - self.extended < self._parts.lease / 3:
            return
        for limit_name in self._claimer.places.renew():
            self._log.warning("lost places: their lease ran out", limit=limit_name)
        jobs = [work.job for work in self._jobs.values()]
        held = queue.extend(self._parts.database, jobs, lease=self._parts.lease, holder=self._claimer.places.holder)
        self.extended = now
        for job in jobs:
            if job.id not in held:
                self._let_go(job.id)
                self._say_lost(job.id)

    def _take(self, job: Job, now: float) -> Work | None:
        """Take a claimed job into hand; None where it must not start here."""
        if job.id in self._jobs:  # an attempt of ours whose lease ran out before we noticed; it may still be running
            self._let_go(job.id)
            self._say_lost(job.id)
        handler = self._parts.handlers.get(job.kind)
        if job.limit_name:
            self._claimer.places.use(job.limit_name)
        work = self._jobs[job.id] = Work(job, handler or UNKNOWN)
        if (settlement := self._parts.refuse(job, handler)) is None:
            return work
        self._end(job, settlement, 0.0)
        self._claimer.ended(1, 0.0)
        return None

    def _end(self, job: Job, settlement: Settlement, seconds: float) -> None:
        """Note an end that needs a statement of its own."""
        became = word(settlement)
        self._report.ended(job.kind, became, [seconds], [self._report.line(job, became, seconds, settlement.error_class)])
        self._unsettled.append(settlement)

    def _let_go(self, job_id: int) -> Work | None:
        work = self._jobs.pop(job_id, None)
        if work is not None and work.job.limit_name:
            self._claimer.places.leave(work.job.limit_name)
        return work

    def _say_lost(self, job_id: int) -> None:
        self._log.warning("lost lease: the job is no longer this worker's, and nothing of it was changed", job=job_id)
