"""The threads that run jobs. They pop from one shared deque and are woken once a batch, so a hanging job takes nothing
with it; one that is over its time is taken from its thread by an atomic hand-over, and a new thread takes the seat."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.outcome import Outcome, Retry


class Work(NamedTuple):
    """A job in hand and its handler."""

    job: Job
    handler: Handler


class Ended(NamedTuple):
    """An attempt that has ended: its outcome, how many seconds it took, and what the log says of it, '' if that is yet to be
    found."""

    work: Work
    outcome: Outcome
    seconds: float
    line: str = ""


class Run:
    """One attempt in a thread. Whoever calls `end` first owns its outcome."""

    __slots__ = ("_lock", "started", "work")

    def __init__(self, work: Work, started: float) -> None:
        self.work = work
        self.started = started
        self._lock = threading.Lock()

    def end(self) -> bool:
        return self._lock.acquire(blocking=False)


class _Seat:
    __slots__ = ("run", "thread")

    def __init__(self) -> None:
        self.run: Run | None = None
        self.thread: threading.Thread | None = None


class Runners:
    """`execute(work) -> Outcome` never raises; `line(work, outcome, seconds)` is what the log says of it; `may_start(work)`
    says whether there is still time; `notify` is called when the runners have nothing left to start, or a job was refused
    its start."""

    def __init__(
        self,
        size: int,
        execute: Callable[[Work], Outcome],
        line: Callable[[Work, Outcome, float], str],
        may_start: Callable[[Work], bool],
        notify: Callable[[], None],
    ) -> None:
        self.size = size
        self._execute = execute
        self._line = line
        self._may_start = may_start
        self._notify = notify
        self._waiting: deque[Work] = deque()
        self._ended: deque[Ended] = deque()
        self._refused: deque[Work] = deque()
        self._condition = threading.Condition()
        self._closing = False
        self._low = 0
        self._stuck: list[threading.Thread] = []
        self._seats = [self._new_seat() for _ in range(size)]

    def put(self, work: Iterable[Work]) -> None:
        """Hand over work; `notify` is called when about a third of what then waits is left."""
        with self._condition:
            self._waiting.extend(work)
            self._low = len(self._waiting) // 3
            self._condition.notify_all()

    def waiting(self) -> int:
        return len(self._waiting)

    def running(self) -> list[Run]:
        return [run for seat in self._seats if (run := seat.run) is not None]

    def ended(self) -> list[Ended]:
        """Take the attempts that have ended since the last call."""
        return [self._ended.popleft() for _ in range(len(self._ended))]

    def refused(self) -> list[Work]:
        """Take the jobs that were not started because there was no time for them."""
        return [self._refused.popleft() for _ in range(len(self._refused))]

    def take_back(self, which: Callable[[Work], bool] = lambda work: True) -> list[Work]:
        """Take back those of the waiting jobs that have not started."""
        taken: list[Work] = []
        kept: list[Work] = []
        with self._condition:
            while True:
                try:
                    work = self._waiting.popleft()
                except IndexError:
                    break
                (taken if which(work) else kept).append(work)
            self._waiting.extend(kept)
            self._condition.notify_all()
        return taken

    def overdue(self, now: float) -> list[Ended]:
        """Take the running jobs that are over their timeout from their threads, and put new threads into the seats."""
        late: list[Ended] = []
        for index, seat in enumerate(self._seats):
            run = seat.run
            if run is None or now - run.started <= run.work.handler.timeout or not run.end():
                continue
            late.append(Ended(run.work, _timed_out(run.work.handler), now - run.started))
            if seat.thread is not None:
                self._stuck.append(seat.thread)
            self._seats[index] = self._new_seat()
        return late

    def stuck(self) -> int:
        """How many threads never came back from a job that was over its time."""
        self._stuck = [thread for thread in self._stuck if thread.is_alive()]
        return len(self._stuck)

    def close(self) -> None:
        """Let the threads end; does not wait for one that is stuck."""
        with self._condition:
            self._closing = True
            self._condition.notify_all()
        for seat in self._seats:
            if seat.thread is not None:
                seat.thread.join(timeout=1)

    def _new_seat(self) -> _Seat:
        seat = _Seat()
        seat.thread = threading.Thread(target=self._sit, args=(seat,), name="runner", daemon=True)
        seat.thread.start()
        return seat

    def _sit(self, seat: _Seat) -> None:
        while True:
            try:
                work = self._waiting.popleft()
            except IndexError:
                self._notify()
                with self._condition:
                    while not self._waiting and not self._closing:
                        self._condition.wait()
                    if self._closing:
                        return
                continue
            if len(self._waiting) == self._low:
                self._notify()
            if not self._may_start(work):
                self._refused.append(work)
                continue
            started = time.monotonic()
            seat.run = run = Run(work, started)
            outcome = self._execute(work)
            seconds = time.monotonic() - started
            ended = Ended(work, outcome, seconds, self._line(work, outcome, seconds))
            if not run.end():
                return  # it was over its time: another thread has the seat
            self._ended.append(ended)
            seat.run = None


def _timed_out(handler: Handler) -> Outcome:
    return Retry("JobTimeout", f"ran longer than its timeout of {handler.timeout:g} s")
