"""What happens each minute: slots of schedules, expired leases, the state of the lines, waking drains, pruning.

Each step is apart: one that fails is logged and told once, and the others run. Only where the database is away does the
whole fail, so that the alarm on this function's errors sees it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import psycopg

from tidemill import queue, telemetry
from tidemill.alerts import Alerts
from tidemill.db import Database
from tidemill.handlers import Handler
from tidemill.prune import prune
from tidemill.schedule import Schedule
from tidemill.settings import Settings
from tidemill.sweep import Sweep, Swept
from tidemill.telemetry import Log
from tidemill.watch import Watch

RETENTION_DAYS = 30.0
WITHOUT_DEADLINE = 30.0  # seconds to work for where the context names no deadline
MOST_PRUNING = 10.0  # seconds
MARGIN = 5.0  # seconds before the deadline at which pruning has ended
MOST_COUNTED = 10_000  # jobs of a line, and failed ones
JOBS_A_DRAIN = 500
MOST_DRAINS = 10  # woken at once, where DRAIN_CONCURRENCY does not say how many there may be

T = TypeVar("T")


class Backlog(NamedTuple):
    """`oldest`: seconds since the run_at of the oldest job that could be claimed; the others: numbers of jobs, counted up to
    a bound."""

    oldest: float
    ready: int
    running: int
    dead: int


class Tick:
    """Made once a container. `wake(count)` asks for drains. Raises ConfigurationError where RETENTION_DAYS or
    DRAIN_CONCURRENCY is no number."""

    def __init__(
        self,
        database: Database,
        schedules: Iterable[Schedule],
        handlers: Mapping[str, Handler],
        settings: Settings,
        log: Log,
        alerts: Alerts,
        wake: Callable[[int], None],
    ) -> None:
        limits = {kind: one.limit_name for kind, one in handlers.items()}
        self._database = database
        self._sweep = Sweep(database, schedules, limits, log, alerts.alert, settings.redact)
        self._max_attempts = {kind: one.max_attempts for kind, one in handlers.items()}
        self._watch = Watch(database, settings, alerts)
        self._retention = settings.number("RETENTION_DAYS", RETENTION_DAYS)
        self._most_drains = math.ceil(settings.number("DRAIN_CONCURRENCY", 0)) or MOST_DRAINS
        self._log = log
        self._alerts = alerts
        self._wake = wake
        self._failing: set[str] = set()

    def run(self, event: object, context: object) -> dict[str, Any]:
        """One tick; what is in the event makes no difference. Answers what it did, and under "failed" the steps that failed.
        Raises psycopg.Error where the database is away."""
        try:
            return self._run(context)
        finally:
            self._sign_off()

    def _run(self, context: object) -> dict[str, Any]:
        failed: list[str] = []
        swept = self._step("schedules", self._sweep_schedules, failed)
        reaped = self._step("leases", self._reap, failed)
        backlog = self._step("backlog", self._measure, failed)
        wrong = self._step("watch", lambda: self._watch.run(backlog) if backlog else [], failed)
        woken = self._step("wake", lambda: self._wake_drains(backlog), failed)
        seconds = min(_seconds_left(context) - MARGIN, MOST_PRUNING)
        pruned = self._step("pruning", lambda: prune(self._database, self._retention, seconds), failed)
        self._over("database")
        return {
            "ok": not failed,
            "failed": failed,
            "slots": swept and vars(swept),
            "reaped": reaped,
            "backlog": backlog and backlog._asdict(),
            "wrong": wrong,
            "woken": woken,
            "pruned": pruned,
        }

    def _step(self, name: str, act: Callable[[], T], failed: list[str]) -> T | None:
        try:
            result = act()
        except Exception as error:
            failed.append(name)
            self._troubled(name, error)
            return None
        self._over(name)
        return result

    def _troubled(self, step: str, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}"
        self._log.error("a step of the schedule function failed", step=step, error=text)
        if isinstance(error, psycopg.Error):
            try:
                self._database.connection()
            except psycopg.Error:
                self._tell("database", f"the database is away, as the schedule function finds: {text}")
                raise
        self._tell(step, f"the step {step!r} of the schedule function fails: {text}")

    def _tell(self, trouble: str, text: str) -> None:
        """Tell people of a trouble, once until it is over (or this process ends)."""
        if trouble not in self._failing:
            self._failing.add(trouble)
            self._alerts.alert(text)

    def _over(self, trouble: str) -> None:
        if trouble in self._failing:
            self._failing.remove(trouble)
            self._alerts.alert(f"{trouble}: works again, as the schedule function finds")

    def _sign_off(self) -> None:
        """Send what is held, and note which failed jobs somebody was told of; without the note they are told again."""
        self._alerts.flush()
        try:
            if told := self._alerts.told_jobs():
                self._database.execute("told", {"ids": told})
        except psycopg.Error as error:
            self._log.warning("the schedule function could not sign off", error=type(error).__name__)

    def _sweep_schedules(self) -> Swept:
        swept = self._sweep.run()
        counts = {"SchedulesOverdue": swept.overdue, "SlotsEnqueued": swept.enqueued, "SlotsMissed": swept.missed}
        telemetry.write_lines([telemetry.metrics({name: (count, "Count") for name, count in counts.items()})])
        return swept

    def _reap(self) -> int:
        reaped = queue.reap(self._database, self._max_attempts)
        dead = [job for job in reaped if job.status == "failed"]
        for job in dead:
            self._alerts.job_failed(job.id, job.kind, job.error_class, job.error, job.correlation_id)
        if reaped:
            self._log.warning("leases expired", jobs=len(reaped), failed=len(dead))
        return len(reaped)

    def _measure(self) -> Backlog:
        backlog = Backlog(*self._database.execute("backlog", {"most": MOST_COUNTED})[0])
        telemetry.write_lines([
            telemetry.metrics({
                "OldestReadyAge": (backlog.oldest, "Seconds"),
                "JobsReady": (backlog.ready, "Count"),
                "JobsRunning": (backlog.running, "Count"),
                "JobsDead": (backlog.dead, "Count"),
            })
        ])  # fmt: skip
        return backlog

    def _wake_drains(self, backlog: Backlog | None) -> int:
        """Wake as many drains as the ready jobs need; one where nobody knows how many are ready."""
        count = 1 if backlog is None else min(math.ceil(backlog.ready / JOBS_A_DRAIN), self._most_drains)
        if count:
            self._wake(count)
        return count


def _seconds_left(context: object) -> float:
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    return remaining() / 1000 if remaining else WITHOUT_DEADLINE
