"""Enqueue what is due of all schedules, and notice those that do not run. Each schedule is handled apart.

The database's clock decides; `schedules.last_slot` remembers. Two sweeps at once, or one that is run again after it was
killed at any point, enqueue one job a slot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from tidemill import jsontext, newjob
from tidemill.db import Database
from tidemill.model import NewJob
from tidemill.schedule import Schedule
from tidemill.telemetry import Log


@dataclass
class Swept:
    """What a sweep did: jobs made, slots that will never run, schedules that failed, and those found late by a period."""

    enqueued: int = 0
    missed: int = 0
    failed: int = 0
    overdue: int = 0


class Seen(NamedTuple):
    """A schedule as the database knows it: all its slots up to `since` are done; `alerted`: its absence has been told."""

    kind: str
    rule: str
    since: datetime
    alerted: bool


class Sweep:
    """`limits` maps a kind to the name of its limit; `tell` reaches a person; `redact` takes secrets out of a text."""

    def __init__(
        self,
        database: Database,
        schedules: Iterable[Schedule],
        limits: Mapping[str, str],
        log: Log,
        tell: Callable[[str], None],
        redact: Callable[[str], str],
    ) -> None:
        self._database = database
        self._schedules = {one.name: one for one in schedules}
        self._limits = limits
        self._log = log
        self._tell = tell
        self._redact = redact

    def run(self) -> Swept:
        """Sweep once. Raises psycopg.Error where the database neither enqueues nor takes a note of that."""
        swept = Swept()
        news: list[str] = []
        every = self._schedules.values()
        columns = {
            "names": [one.name for one in every],
            "kinds": [one.kind for one in every],
            "rules": [one.rule for one in every],
        }
        try:
            for name, kind, rule, since, alerted, now in self._database.execute("schedule_see", columns):
                news.extend(self._see_to(self._schedules[name], Seen(kind, rule, since, alerted), now, swept))
        finally:
            if news:
                self._tell("\n".join(news))
        return swept

    def _see_to(self, schedule: Schedule, seen: Seen, now: datetime, swept: Swept) -> Iterator[str]:
        """Enqueue what is due of one schedule; yields what people are to be told."""
        since = schedule.restart(seen.since, now) if seen.rule != schedule.rule else seen.since
        late = schedule.overdue(since, now)
        swept.overdue += late
        first, why = schedule.text(schedule.next_slot(since)), "nobody looked in time"
        try:
            if (seen.kind, seen.rule) != (schedule.kind, schedule.rule):
                self._change(schedule, seen, since)
            since = self._enqueue(schedule, since, now, swept)
        except Exception as error:  # whatever is wrong with one schedule must not stop the others
            why = self._failed(schedule, error, swept)
        if late and self._alerted(schedule, True):
            yield f"schedule {schedule.name} ({schedule.rule}) is overdue by more than a period: slot {first}: {why}"
        if seen.alerted and not schedule.overdue(since, now) and self._alerted(schedule, False):
            yield f"schedule {schedule.name} ({schedule.rule}) runs again"

    def _change(self, schedule: Schedule, seen: Seen, since: datetime) -> None:
        self._log.info("schedule has changed", schedule=schedule.name, before=seen.rule, rule=schedule.rule)
        self._database.execute("schedule_changed", {
            "name": schedule.name, "kind": schedule.kind, "rule": schedule.rule, "since": since,
        })  # fmt: skip

    def _enqueue(self, schedule: Schedule, since: datetime, now: datetime, swept: Swept) -> datetime:
        """Enqueue the slots that are due; answers up to when all is done."""
        due = schedule.due(since, now)
        for slot in due.slots:
            self._enqueue_one(schedule, slot, swept)
            since = slot
        if due.missed:
            swept.missed += due.missed
            self._log.warning("slots were missed", schedule=schedule.name, missed=due.missed, caught_up=len(due.slots))
        return since

    def _enqueue_one(self, schedule: Schedule, slot: datetime, swept: Swept) -> None:
        text = schedule.text(slot)
        job = newjob.row(NewJob(schedule.kind, key=schedule.key(slot)), self._limits)
        rows = self._database.execute("enqueue_slot", job | {
            "name": schedule.name, "at": slot, "slot": text, "previous_slot": schedule.text(schedule.previous_slot(slot)),
        })  # fmt: skip
        if rows:
            swept.enqueued += 1
            self._log.info("slot enqueued", schedule=schedule.name, slot=text, job=rows[0][0])
        else:
            self._log.info("slot was enqueued before", schedule=schedule.name, slot=text)

    def _failed(self, schedule: Schedule, error: Exception, swept: Swept) -> str:
        swept.failed += 1
        text = jsontext.clean(self._redact(f"{type(error).__name__}: {error}"))
        self._log.error("slot was not enqueued", schedule=schedule.name, error=text)
        self._database.execute("schedule_failed", {"name": schedule.name, "error": text})
        return text

    def _alerted(self, schedule: Schedule, overdue: bool) -> bool:
        """Remember that it is being told; False where another tick has done so."""
        return bool(self._database.execute("schedule_alerted", {"name": schedule.name, "overdue": overdue}))
