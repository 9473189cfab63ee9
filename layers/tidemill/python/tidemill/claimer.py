"""What to claim next: the lines that have work, the places under limits, and how much to hold.

Batches follow trust: as many jobs as there are idle runners, and beyond that only what the measured rate starts within a
tenth of a second, so that slow handlers do not hoard jobs that another worker could run.
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


class Claims(Protocol):
    """Where the jobs of a drain come from: its lines (Claimer), or a queue (consume.Sent)."""

    places: Places

    def ended(self, count: int, now: float) -> None: ...
    def room(self, running: int, waiting: int) -> int: ...
    def claim(self, done: Sequence[tuple[int, int]], size: int, idle_runners: int, now: float) -> Claim: ...
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
        self._next_scan = 0.0
        self._next_places = 0.0
        self._tried: set[str] = set()  # limits for which places were asked since then
        self._fresh = False  # nothing was claimed since the last scan
        self._look_for_news = False
        self._rate = 0.0
        self._ended = 0
        self._since = time.monotonic()

    def ended(self, count: int, now: float) -> None:
        """So many attempts have ended: the measured rate follows."""
        self._ended += count
        if (passed := now - self._since) >= 0.02:
            self._rate = (self._rate + self._ended / passed) / 2 if self._rate else self._ended / passed
            self._ended, self._since = 0, now

    def room(self, running: int, waiting: int) -> int:
        """How many jobs to claim, 0 while enough are waiting."""
        target = max(self._threads - running, 0) + int(min(self._rate * HORIZON, LARGEST_STORE))
        wanted = target - waiting
        return min(wanted, LARGEST_BATCH) if wanted * 2 >= target else 0

    def claim(self, done: Sequence[tuple[int, int]], size: int, idle_runners: int, now: float) -> Claim:
        """Settle `done`, and take up to `size` jobs where something is known to wait. Raises psycopg.OperationalError; then
        nothing was started, and jobs that the claim may have taken are given back before the next."""
        if self._doubtful:
            queue.abandon(self._database, self._doubtful)
            self._doubtful = []
        if size:
            self._look_around(idle_runners, now)
        plan = self._lines.plan(size, self.places.idle(), self.places.held(), now) if size else Plan(Entries(), {})
        if not done and not plan.shares:
            return Claim([], [])
        claim_id = queue.new_claim_id()
        try:
            claim = queue.claim(
                self._database, plan.entries, size, claim_id=claim_id, lease=self._lease, holder=self.places.holder,
                worker=self._worker, done=done,
            )  # fmt: skip
        except psycopg.OperationalError:
            self._doubtful.append(claim_id)
            raise
        if size:
            self._lines.took(plan, claim, size, now)
            self._fresh = self._fresh and not claim.jobs
        return claim

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

    def _look_around(self, idle_runners: int, now: float) -> None:
        if now >= self._next_scan:
            self._scan(now)
        elif self._look_for_news:
            self._lines.news(self._database.execute("news", {"seen": self._lines.seen}), now)
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
