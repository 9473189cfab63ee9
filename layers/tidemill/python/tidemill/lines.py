"""Which lines have work, and what to ask of each in the next claim.

A line is (limit, tenant, priority); an entry is a tenant under a limit. A worker keeps one watermark a line: behind it it
has claimed everything, so that the next claim starts there and not among the dead rows at the head. What slipped in behind
(a late commit, a returned lease, a job given back) is found by the loose scan, which lowers the watermark again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from tidemill.model import Job
from tidemill.queue import Entries

SECOND = 1_000_000  # watermarks are in microseconds
TURN = 8  # each so many claims, an entry's lines are taken in another order, so that low priorities stay alive
FEW = 50  # entries that a claim asks, and more where these have less than it could take: each costs the server a descent
PROBE = 64  # with no more lines than this, those that were found dry are asked again in each claim: it costs next to nothing

LineKey = tuple[str, str, int]
EntryKey = tuple[str, str]


@dataclass
class Line:
    mark_time: int
    mark_id: int
    due_at: float  # monotonic seconds at which its first job is due
    dry: bool = False
    free: bool = True  # under no limit


@dataclass
class Tenant:
    """An entry: its lines by priority, the claim that asked it last, and what it had when it had less than its share."""

    lines: dict[int, Line] = field(default_factory=dict)
    asked: int = -1
    demand: int | None = None

    def dry(self) -> bool:
        return all(line.dry for line in self.lines.values())


Asking = tuple[EntryKey, Tenant, list[tuple[int, Line]]]


@dataclass(frozen=True)
class Plan:
    """The entries of one claim, and the shares they were given by key."""

    entries: Entries
    shares: dict[EntryKey, int]


class Lines:
    def __init__(self) -> None:
        self._tenants: OrderedDict[EntryKey, Tenant] = OrderedDict()  # whoever was asked longest ago first
        self._limited: set[EntryKey] = set()  # those of them that are under limits
        self._paused: dict[str, float] = {}
        self._claims = 0
        self._most = FEW  # entries to ask in the next claim
        self.seen = 0  # the greatest job id that the look for news has seen

    def scanned(self, rows: Iterable[Sequence[Any]], now: float) -> None:
        """Take over what the loose scan found: all lines there are, each with its first waiting job."""
        before, found = self._tenants, dict[EntryKey, Tenant]()
        self._limited.clear()
        for limit_name, tenant, priority, run_at, job_id, due_in, free in rows:
            old = before.get((limit_name, tenant))
            entry = found.setdefault((limit_name, tenant), Tenant(asked=old.asked if old else -1))
            mark = (run_at, job_id - 1)
            if old and (line := old.lines.get(priority)):
                mark = min(mark, (line.mark_time, line.mark_id))
            entry.lines[priority] = Line(*mark, due_at=now + due_in, free=free)
            if not free:
                self._limited.add((limit_name, tenant))
        self._tenants = OrderedDict(sorted(found.items(), key=lambda one: one[1].asked))

    def news(self, rows: Iterable[Sequence[Any]], now: float) -> None:
        """Take over lines of newly inserted jobs."""
        for limit_name, tenant, priority, run_at, job_id, newest, due_in, free in rows:
            self.seen = max(self.seen, newest)
            if (entry := self._tenants.get(key := (limit_name, tenant))) is None:
                entry = self._tenants[key] = Tenant()
                self._tenants.move_to_end(key, last=False)
            if not free:
                self._limited.add(key)
            if (line := entry.lines.get(priority)) is None:
                entry.lines[priority] = Line(run_at, job_id - 1, due_at=now + due_in, free=free)
            elif line.dry or now + due_in < line.due_at:
                line.dry, line.due_at = False, min(line.due_at, now + due_in)
                entry.demand = None
                if (run_at, job_id - 1) < (line.mark_time, line.mark_id):
                    line.mark_time, line.mark_id = run_at, job_id - 1

    def pause(self, limit_name: str, until: float) -> None:
        """Ask nothing under this limit until then (monotonic seconds)."""
        self._paused[limit_name] = max(until, self._paused.get(limit_name, 0))

    def due_limits(self, now: float) -> set[str]:
        """The limits under which a job is due."""
        return {
            key[0]
            for key in self._limited
            if self._paused.get(key[0], 0) <= now
            and any(not line.free and _asks(line, now) for line in self._tenants[key].lines.values())
        }

    def next_due(self, now: float, blocked: set[str]) -> float | None:
        """Seconds until the first job is due, but for those under the limits that are `blocked`; None: there is none."""
        times = [
            max(line.due_at, self._paused.get(limit_name, 0))
            for (limit_name, _), entry in self._tenants.items()
            for line in entry.lines.values()
            if not line.dry and (line.free or limit_name not in blocked)
        ]
        return max(min(times) - now, 0.0) if times else None

    def plan(self, size: int, idle: Mapping[str, int], held: Mapping[str, int], now: float) -> Plan:
        """What to ask in a claim of `size`, with `idle` of the `held` places free by limit: fair between tenants, whoever
        was asked longest ago first; within one the most urgent line first, in turns another. The answers to earlier plans
        need not be known."""
        self._claims += 1
        asking = list(islice(self._asking(idle, now), min(size, self._most)))
        shares = self._shares(asking, size, idle)
        entries = Entries()
        for key, entry, lines in asking:
            if share := shares[key]:
                entry.asked = self._claims
                self._tenants.move_to_end(key)
                _add(entries, key, share, 0 if lines[0][1].free else held[key[0]], self._turned(lines))
        return Plan(entries, shares)

    def took(self, plan: Plan, jobs: Sequence[Job], size: int, now: float) -> None:
        """Move the watermarks over what a claim took, and remember which lines ran dry."""
        last: dict[EntryKey, dict[int, tuple[int, int]]] = {}
        taken: dict[EntryKey, int] = {}
        for job in jobs:  # of a line the last is the furthest
            key = (job.limit_name, job.tenant)
            taken[key] = taken.get(key, 0) + 1
            last.setdefault(key, {})[job.priority] = (job.run_at_us, job.id)
        cut = len(jobs) >= size
        if cut:
            self._most = max(self._most * 3 // 4, FEW)
        elif len(plan.shares) >= self._most:
            self._most = len(plan.shares) * size // max(len(jobs), 1)
        for key, share in plan.shares.items():
            if entry := self._tenants.get(key):
                self._entry_took(entry, share, taken.get(key, 0), last.get(key, {}), cut, now)
                if cut and key not in taken:  # the claim had its jobs before it came to this one
                    self._tenants.move_to_end(key, last=False)

    def _entry_took(
        self, entry: Tenant, share: int, taken: int, marks: Mapping[int, tuple[int, int]], cut: bool, now: float
    ) -> None:
        full = taken >= share
        if taken or not cut:
            entry.demand = None if full else taken
        for priority, (run_at, job_id) in marks.items():
            if (line := entry.lines.get(priority)) is None:
                continue  # a scan that was made meanwhile found nothing more in it
            # After a short batch a second less, for rows whose transaction commits late; never back to the start.
            mark = (run_at, job_id) if full else (run_at - SECOND, job_id)
            if mark > (line.mark_time, line.mark_id):
                line.mark_time, line.mark_id = mark
        if not full and not cut:
            for line in entry.lines.values():
                line.dry = line.dry or line.due_at <= now

    def _asking(self, idle: Mapping[str, int], now: float) -> Iterator[Asking]:
        """Who is to be asked, one after the other."""
        probe_dry = len(self._tenants) <= PROBE and sum(len(entry.lines) for entry in self._tenants.values()) <= PROBE
        for key, entry in self._tenants.items():
            if lines := self._asked_lines(key, entry, idle, now, probe_dry):
                yield key, entry, lines

    def _asked_lines(
        self, key: EntryKey, entry: Tenant, idle: Mapping[str, int], now: float, probe_dry: bool
    ) -> list[tuple[int, Line]]:
        limit_name = key[0]
        if self._paused.get(limit_name, 0) > now:
            return []
        asked = [
            (priority, line)
            for priority, line in entry.lines.items()
            if (probe_dry or _asks(line, now)) and (line.free or idle.get(limit_name, 0) > 0)
        ]
        if len(asked) > 1:
            asked.sort(key=lambda one: -one[0])
        return asked

    def _shares(self, asking: list[Asking], size: int, idle: Mapping[str, int]) -> dict[EntryKey, int]:
        """Fill up by water level: who had little last time is given that much and one more, the others share the rest."""
        left, count = size, len(asking)
        left_under = dict(idle)
        shares: dict[EntryKey, int] = {}
        for key, entry, lines in sorted(asking, key=lambda one: _demand(one[1])):
            share = max(1, min(left // max(count, 1), _demand(entry)))
            if not lines[0][1].free:
                share = min(share, left_under[key[0]])
                left_under[key[0]] -= share
            shares[key] = share
            # One that was dry is only probed: what it is given is not missed, since the claim as a whole ends at its size.
            left, count = max(left - (0 if entry.dry() else share), 0), count - 1
        return shares

    def _turned(self, lines: list[tuple[int, Line]]) -> list[tuple[int, Line]]:
        if len(lines) < 2 or self._claims % TURN:
            return lines
        start = self._claims // TURN % len(lines)
        return lines[start:] + lines[:start]


def _asks(line: Line, now: float) -> bool:
    return not line.dry and line.due_at <= now


def _demand(entry: Tenant) -> int:
    return 1 << 30 if entry.demand is None else entry.demand + 1


def _add(entries: Entries, key: EntryKey, share: int, held: int, lines: list[tuple[int, Line]]) -> None:
    entries.limit_names.append(key[0])
    entries.tenants.append(key[1])
    entries.shares.append(share)
    entries.held.append(held)
    entries.lo.append(len(entries.priorities) + 1)
    for priority, line in lines:
        entries.priorities.append(priority)
        entries.mark_times.append(line.mark_time)
        entries.mark_ids.append(line.mark_id)
    entries.hi.append(len(entries.priorities))
