"""The drain: claim -> run -> settle, until the line is empty or the time is nearly up.

One thread, the caller's, talks to the database: it settles what has ended and claims what is next in one round trip, while
the runners work. A job whose lease ran out before is suspected of having killed its worker: it runs alone, so that it takes
no neighbour with it.
"""

from __future__ import annotations

import threading
import time

import psycopg

from tidemill import places
from tidemill.attempt import attempt
from tidemill.claimer import Claimer, Claims, is_suspect
from tidemill.context import Context
from tidemill.hand import Hand, Parts
from tidemill.outcome import Limited, Outcome
from tidemill.report import Report
from tidemill.runners import Ended, Runners, Work

TICK = 0.05  # seconds between looks at the runners
MARGIN = 1.0  # seconds before the deadline that settling the last batch may take


class Worker:
    """Made once a container; `drain` once an invocation."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._declared = False
        self.stuck = 0  # threads that never came back from a job that was over its time

    def drain(
        self,
        seconds: float,
        *,
        hard: bool = True,
        log_stream: str = "",
        request_id: str = "",
        claims: Claims | None = None,
    ) -> dict[str, int]:
        """Work off what `claims` brings (default: the line) for at most `seconds`; answers how often each thing became of
        an attempt.

        With a `hard` end no job starts whose timeout does not fit into the time left; without one, a job that has started
        takes the time it needs. Raises psycopg.OperationalError when the database stays away.
        """
        if not self._declared:
            handlers = self._parts.handlers.values()
            places.declare(self._parts.database, {one.limit_name: one.limit_size for one in handlers if one.limit_name})
            self._declared = True
        parts = self._parts
        claimer = claims or Claimer(parts.database, parts.threads, parts.lease, parts.name)
        drain = Drain(parts, claimer, seconds, hard, log_stream, request_id)
        try:
            return drain.run()
        finally:
            self.stuck += drain.close()

    def take_published(self) -> bool:
        """Whether something was written to the outbox since the last call."""
        published = self._parts.tools.published
        was = published.is_set()
        published.clear()
        return was


class Drain:
    """One invocation's work."""

    def __init__(self, parts: Parts, claimer: Claims, seconds: float, hard: bool, log_stream: str, request_id: str) -> None:
        self._parts = parts
        self._claimer = claimer
        self._hard = hard
        self._ends_at = time.monotonic() + max(seconds - MARGIN, 0.0)
        self._report = Report()
        self._hand = Hand(parts, claimer, self._report, log_stream, request_id)
        self._suspects: list[Work] = []
        self._alone: int | None = None  # the suspect that was started last
        self._pauses: dict[str, float] = {}  # seconds that the other side asked for, by limit, not yet known to the others
        self._contexts: dict[tuple[int, int], Context] = {}  # by job and claim
        self._idle_since: float | None = None
        self._wake = threading.Event()
        self._runners = Runners(parts.threads, self._execute, self._hand.line, self._may_start, self._wake.set)

    def run(self) -> dict[str, int]:
        trouble = 0
        while True:
            try:
                if self._turn():
                    self._claimer.close()
                    self._hand.report()
                    return self._report.finish()
                trouble = 0
            except psycopg.OperationalError as error:
                trouble += 1
                self._wait_out(error, trouble)

    def close(self) -> int:
        """End the threads; answers how many are stuck."""
        self._runners.close()
        return self._runners.stuck()

    def _turn(self) -> bool:
        """One look at everything; True when the work is over."""
        self._wake.clear()
        self._hand.arrive()
        now = time.monotonic()
        self._hand.extend(now)
        self._note_ended(self._runners.ended() + self._overdue(now))
        self._pause_limits()
        over = self._is_over(now)
        self._hand.give_back(self._runners.refused() + (self._take_all_back() if over else []))
        self._hand.settle()
        taken = self._claim(0 if over else self._room(), now)
        if self._hand:
            self._idle_since = None
            if not taken and not self._hand.expects:
                self._start_suspect()
                self._wake.wait(TICK)
            return False
        return over or not self._await_next(now)

    # Running

    def _execute(self, work: Work) -> Outcome:
        ctx = Context(work.job, self._parts.tools, time.monotonic() + work.handler.timeout)
        self._contexts[work.job.id, work.job.claim_id] = ctx
        try:
            return attempt(work.job, work.handler, ctx, self._parts.tools.log, self._parts.tools.settings.redact)
        finally:
            self._contexts.pop((work.job.id, work.job.claim_id), None)
            ctx.close()

    def _may_start(self, work: Work) -> bool:
        now = time.monotonic()
        if now - self._hand.extended > self._parts.lease * 0.9:
            return False  # the database thread was held up for so long that the job may be another worker's by now
        return now + (work.handler.timeout if self._hard else 0) <= self._ends_at

    def _overdue(self, now: float) -> list[Ended]:
        late = self._runners.overdue(now)
        for one in late:
            if ctx := self._contexts.get((one.work.job.id, one.work.job.claim_id)):
                threading.Thread(target=ctx.expire, daemon=True).start()
        return late

    def _start_suspect(self) -> None:
        """Let a suspect run once nothing else is in hand: what ended before it is settled, and cannot be lost with it."""
        if self._suspects and len(self._hand) == len(self._suspects):
            work = self._suspects.pop()
            self._alone = work.job.id
            self._runners.put([work])

    # Settling

    def _note_ended(self, ended: list[Ended]) -> None:
        if not ended:
            return
        self._claimer.ended(len(ended), sum([one.seconds for one in ended]))
        for one in self._hand.note(ended):
            name = one.work.job.limit_name
            if isinstance(one.outcome, Limited) and name:
                self._pauses[name] = max(one.outcome.seconds, self._pauses.get(name, 0.0))

    def _pause_limits(self) -> None:
        # Apart from noting what ended: where the database is away the pause is tried again, and no outcome is lost with it.
        for name, seconds in list(self._pauses.items()):
            self._pause(name, seconds)
            del self._pauses[name]

    def _pause(self, limit_name: str, seconds: float) -> None:
        self._hand.give_back(self._runners.take_back(lambda work: work.job.limit_name == limit_name))
        self._claimer.pause(limit_name, seconds)

    # Claiming

    def _is_over(self, now: float) -> bool:
        """Not even the shortest job would fit any more."""
        shortest = min((one.timeout for one in self._parts.handlers.values()), default=0.0) if self._hard else 0.0
        return now + shortest >= self._ends_at

    def _take_all_back(self) -> list[Work]:
        suspects, self._suspects = self._suspects, []
        return self._runners.take_back() + suspects

    def _room(self) -> int:
        if self._suspects or self._alone in self._hand:
            return 0  # what is claimed beside a suspect would lose an attempt with it
        waiting = self._runners.waiting()
        return self._claimer.room(self._hand.started_or_waiting - waiting, waiting + self._hand.arriving)

    def _claim(self, size: int, now: float) -> int:
        """Claim up to `size` jobs; answers how many were handed to the runners. After a full claim the next one is on its
        way while the jobs of the first are unpacked; a short one is waited for, since there may be nothing more to do."""
        if self._hand.arriving:
            try:
                self._hand.ask(size, now)
            finally:  # where the database is away, what has come runs meanwhile
                taken = self._take(now)
            return taken
        self._hand.ask(size, now)
        self._hand.arrive()
        return 0 if self._hand.brims else self._take(now)

    def _take(self, now: float) -> int:
        """Hand what was claimed to the runners; answers how many jobs it was."""
        taken, works = self._hand.take(now)
        self._hand.report()
        if suspects := [work for work in works if is_suspect(work.job)]:
            works = [work for work in works if not is_suspect(work.job)]
            self._suspects += suspects
            self._keep_one_suspect()
        self._runners.put(works)
        return taken

    def _keep_one_suspect(self) -> None:
        if len(self._suspects) > 1:
            self._hand.give_back(self._suspects[1:])
            del self._suspects[1:]
            self._claimer.look_again()

    # Waiting

    def _await_next(self, now: float) -> bool:
        """Nothing is in hand, and nothing was claimed. Sleep until a job is due, False if none is within the linger."""
        if self._hand.unsettled:
            return True
        if self._idle_since is None:
            self._idle_since = now
        wait = self._claimer.next_due(now)
        left = self._idle_since + self._parts.linger - now
        if wait is None or wait > left or now + wait >= self._ends_at:
            return False
        time.sleep(max(wait, 0.005))
        return True

    def _wait_out(self, error: psycopg.OperationalError, trouble: int) -> None:
        """The database is away: wait, and try again as long as there is time; the jobs in hand go on meanwhile."""
        pause = min(0.1 * 2.0**trouble, 2.0)
        self._parts.tools.log.warning("the database does not answer", error=type(error).__name__, again_in=pause)
        if time.monotonic() + pause >= self._ends_at + MARGIN / 2:
            raise error
        time.sleep(pause)
