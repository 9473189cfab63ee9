"""What to claim next: the lines that have work, the places under limits, and how much to hold.

Batches follow trust: as many jobs as there are idle runners, and beyond that only what the runners start within a tenth of a
second, going by how long jobs took, so that slow handlers do not hoard jobs that another worker could run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

import psycopg

from tidemill import queue
from tidemill.db import Database
from tidemill.lines import Lines, Plan
from tidemill.model import Job
from tidemill.places import Places
from tidemill.queue import Claim, Entries

LARGEST_BATCH = 500  # jobs in one claim
LARGEST_STORE = 2 * LARGEST_BATCH  # jobs that wait for a runner: one batch is worked on while the next is claimed
HORIZON = 0.1  # seconds of work to hold beyond what is running
PLACES_EVERY = 0.25  # seconds between tries for places
SCAN_EVERY = 1.0  # least seconds between loose scans; one that takes long is made less often
SCAN_SHARE = 20  # a scan's cost is at most this part of the time
NEWS_EVERY = 0.02  # least seconds between looks for lines of new jobs
TRUST = 16  # jobs to hold for each that has ended: the first few are not believed to be like the rest


class Claims(Protocol):
    """Where the jobs of a drain come from: its lines (Claimer), or a queue (consume.Sent)."""

    places: Places

    def ended(self, count: int, seconds: float) -> None: ...
    def room(self, running: int, waiting: int) -> int: ...
    def ask(self, done: Sequence[tuple[int, int]], size: int, idle_runners: int, now: float) -> Claim | None: ...
    def arrived(self, claim: Claim) -> list[int]: ...
    def take(self, claim: Claim, now: float) -> list[Job]: ...
    def pause(self, limit_name: str, seconds: float) -> None: ...
    def next_due(self, now: float) -> float | None: ...
    def look_again(self) -> None: ...
    def close(self) -> None: ...


class Claimer:
    def __init__(self, database: Database, threads: int, lease: float, worker: str) -> None:
        self.places = Places(database, lease)
        self._database = database
        self._threads = threads
        self._lease = lease
        self._worker = worker
        self._lines = Lines()
        self._doubtful: list[int] = []
        self._plans: dict[Claim, tuple[Plan, int]] = {}  # of the claims that were not taken yet
        self._next_scan = 0.0
        self._next_places = 0.0
        self._tried: set[str] = set()  # limits for which places were asked since then
        self._fresh = False  # nothing was claimed since the last scan
        self._look_for_news = False  # in each second claim
        self._next_news = 0.0
        self._seconds = 0.0  # that an attempt takes, of late
        self._ended = 0

    def ended(self, count: int, seconds: float) -> None:
        """So many attempts have ended, and ran for so many seconds together."""
        self._seconds = (self._seconds + seconds / count) / 2 if self._ended else seconds / count
        self._ended += count

    def room(self, running: int, waiting: int) -> int:
        """How many jobs to claim, 0 while enough are waiting."""
        rate = self._threads / max(self._seconds, 1e-6)
        target = max(self._threads - running, 0) + int(min(rate * HORIZON, TRUST * self._ended, LARGEST_STORE))
        wanted = target - waiting
        return min(wanted, LARGEST_BATCH) if wanted * 2 >= target else 0

    def ask(self, done: Sequence[tuple[int, int]], size: int, idle_runners: int, now: float) -> Claim | None:
        """Send for up to `size` jobs where something is known to wait, and settle `done` with it; None where there is
        nothing to do. Raises psycopg.OperationalError; then jobs that the claim may have taken are given back before the
        next."""
        if self._doubtful:
            queue.abandon(self._database, self._doubtful)
            self._doubtful = []
        if size:
            self._look_around(idle_runners, now)
        plan = self._plan(size, now) if size else Plan(Entries(), {})
        if not done and not plan.shares:
            return None
        self._doubtful.append(claim_id := queue.new_claim_id())
        claim = queue.ask(
            self._database, plan.entries, size, claim_id=claim_id, lease=self._lease, holder=self.places.holder,
            worker=self._worker, done=done,
        )  # fmt: skip
        self._plans[claim] = plan, size
        return claim

    def arrived(self, claim: Claim) -> list[int]:
        """Wait for the answer; answers the ids of what was done whose fence was not ours any more. Raises
        psycopg.OperationalError."""
        try:
            lost = claim.lost()
        except psycopg.OperationalError:
            del self._plans[claim]
            raise
        self._doubtful = []
        return lost

    def take(self, claim: Claim, now: float) -> list[Job]:
        """The jobs of a claim that has arrived."""
        plan, size = self._plans.pop(claim)
        jobs = claim.jobs()
        if size:
            self._lines.took(plan, jobs, size, now)
            self._fresh = self._fresh and not jobs
        return jobs

    def pause(self, limit_name: str, seconds: float) -> None:
        """Nobody starts jobs under the limit for so many seconds."""
        self._database.execute("limit_pause", {"name": limit_name, "seconds": seconds})
        self._lines.pause(limit_name, time.monotonic() + seconds)

    def next_due(self, now: float) -> float | None:
        """Seconds until the first job that could be claimed is due; None: nothing waits."""
        if not self._fresh:
            self._scan(now)
        self._try_places(self._lines.due_limits(now), self._threads, now)
        return self._lines.next_due(now, self._lines.due_limits(now) - set(self.places.idle()))

    def look_again(self) -> None:
        """Something was given back behind the watermark: the next claim begins with a scan."""
        self._next_scan = 0.0

    def close(self) -> None:
        """Give back all places."""
        self.places.free(keep=set())

    def _plan(self, size: int, now: float) -> Plan:
        idle = self.places.idle()
        if any(limit_name for plan, _ in self._plans.values() for limit_name, _ in plan.shares):
            idle = {}  # how many places the jobs under limits take that are on their way is not known yet
        return self._lines.plan(size, idle, self.places.held(), now)

    def _look_around(self, idle_runners: int, now: float) -> None:
        if now >= self._next_scan:
            self._scan(now)
        elif self._look_for_news and now >= self._next_news:
            self._lines.news(self._database.execute("news", {"seen": self._lines.seen}), now)
            self._next_news = now + NEWS_EVERY
        self._look_for_news = not self._look_for_news
        self._try_places(self._lines.due_limits(now) if idle_runners else set(), idle_runners, now)

    def _try_places(self, wanted: set[str], most: int, now: float) -> None:
        if now < self._next_places and wanted <= set(self.places.idle()) | self._tried:
            return
        self.places.free(keep=wanted)
        self.places.take(wanted, most)
        self._tried = wanted
        self._next_places = now + PLACES_EVERY

    def _scan(self, now: float) -> None:
        if not self._lines.seen:
            self._lines.seen = self._database.execute("newest")[0][0]
        self._lines.scanned(self._database.execute("lines"), now)
        self._fresh = True
        self._next_scan = now + max(SCAN_EVERY, SCAN_SHARE * (time.monotonic() - now))


def is_suspect(job: Job) -> bool:
    """Its lease ran out before, so it may be what killed its worker."""
    return job.expiries > 0
