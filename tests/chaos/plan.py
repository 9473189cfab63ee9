"""What a chaos run does, and when: all of it comes from the seed. How the processes interleave does not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

INTAKES = ("intake0", "intake1", "intake2")
DRAINS = ("drain0", "drain1", "drain2")
TICKERS = ("schedule0", "schedule1")
OPERATOR = "operator"
SLOTS = (*INTAKES, *DRAINS, *TICKERS, OPERATOR)

DELIVERIES_A_SECOND = 5
MOST_DELIVERIES = 5_000
SCHEDULES = 20
LONGEST_DAYS = 6  # that a schedule is late when it is looked at
OUTAGE = 4.5  # seconds; longer than a lease, so that a living worker loses what it holds
LATENESS = 4.5  # seconds at most that a worker's last word is late

# What a delivery's jobs are, by how often. Those that kill or block a process are rare: each costs seconds.
_KINDS = {
    "ok": 30, "charge": 25, "limited": 14, "write": 10, "flaky": 10, "slow": 7, "permanent": 3, "discard": 2,
    "hang": 0.6, "killer": 0.6,
}  # fmt: skip
_FAULTS = {
    "kill": 6, "lose answer": 4, "cut": 2, "hold": 1, "stop": 1, "late word": 1, "outage": 1, "restart": 1, "crash": 1,
    "telegram": 1,
}  # fmt: skip
_LONG = {"outage": OUTAGE, "late word": LATENESS}  # seconds; others take less than one
_COMMANDS = {
    "retry": 4, "retry kind": 2, "force": 1, "replay": 4, "replay force": 1, "replay many": 1, "cancel": 2, "pause": 2,
    "pause for good": 1, "resume": 3, "failed": 1, "show": 1, "stats": 1,
}  # fmt: skip
# Seconds after which a process may be stopped: one that is stopped while it is out of touch with the database could run a
# job beyond the lease of its place, which no design avoids.
_OUT_OF_TOUCH = {
    "hold": 2.0, "cut": 2.0, "lose answer": 2.0, "restart": 5.0, "crash": 5.0, "outage": OUTAGE + 3.0,
    "late word": LATENESS + 3.0,
}  # fmt: skip


class Delivery(NamedTuple):
    """One delivery of the sender; `kinds` of its jobs in order, None where its route must fail."""

    number: int
    kinds: tuple[str, ...] | None

    @property
    def key(self) -> str:
        return f"delivery-{self.number}"

    @property
    def correlation_id(self) -> str:
        return f"story-{self.number}"


class Send(NamedTuple):
    """A sender posts a delivery at `at` seconds, in payload format 1 or 2; a forged one has a wrong signature."""

    at: float
    delivery: Delivery
    version: int
    forged: bool


class Insert(NamedTuple):
    """A job that another language inserts."""

    at: float
    kind: str
    key: str
    limit: str


class Late(NamedTuple):
    """Nobody has looked at a schedule for so many days."""

    at: float
    schedule: str
    days: int


class Command(NamedTuple):
    """What the operator does; `rank` from 0 to 1 chooses among what there is to do it to."""

    at: float
    what: str
    rank: float


class Fault(NamedTuple):
    at: float
    what: str
    slot: str
    seconds: float


@dataclass(frozen=True)
class Plan:
    """Everything that is done in `seconds`; `sends` for each of the senders, in order of time, like all the others."""

    seed: int
    seconds: float
    deliveries: tuple[Delivery, ...]
    sends: tuple[tuple[Send, ...], ...]
    inserts: tuple[Insert, ...]
    lates: tuple[Late, ...]
    commands: tuple[Command, ...]
    faults: tuple[Fault, ...]


def plan(seed: int, seconds: float) -> Plan:
    """The plan of a run that is disturbed for so many seconds."""
    rand = random.Random(f"tidemill chaos {seed}")
    deliveries = tuple(_deliveries(rand, min(int(seconds * DELIVERIES_A_SECOND), MOST_DELIVERIES)))
    return Plan(
        seed,
        seconds,
        deliveries,
        tuple(_sends(rand, deliveries, seconds)),
        tuple(_inserts(rand, seconds)),
        tuple(_lates(rand, seconds)),
        tuple(Command(at, what, rand.random()) for at, what in _dealt(rand, _COMMANDS, seconds, 0.4)),
        tuple(_faults(rand, seconds)),
    )


def _deliveries(rand: random.Random, count: int) -> Iterator[Delivery]:
    """The first ones have each kind, so that a short run has them all, and one that cannot be routed."""
    kinds = list(_KINDS)
    first: list[tuple[str, ...] | None] = [*((kind,) for kind in kinds), None]
    for number in range(count):
        if number < len(first):
            yield Delivery(number, first[number])
        elif rand.random() < 0.02:
            yield Delivery(number, None)
        else:
            yield Delivery(number, tuple(rand.choices(kinds, list(_KINDS.values()), k=rand.randint(1, 4))))


def _sends(rand: random.Random, deliveries: tuple[Delivery, ...], seconds: float) -> Iterator[tuple[Send, ...]]:
    """A third of the deliveries comes again, at once from another sender or later; a few more are forged."""
    lines: list[list[Send]] = [[] for _ in INTAKES]
    for delivery in deliveries:
        at = seconds * delivery.number / len(deliveries)
        for turn in range(rand.choice((1, 1, 2)) + rand.choice((0, 0, 0, 1))):
            later = rand.choice((0, 0, rand.uniform(0, 3))) if turn else 0.0
            version = rand.choice((1, 2))
            lines[(delivery.number + turn) % len(lines)].append(Send(at + later, delivery, version, forged=False))
        if rand.random() < 0.05:
            rand.choice(lines).append(Send(at, Delivery(-1 - delivery.number, ("ok",)), 2, forged=True))
    return (tuple(sorted(line, key=lambda one: one.at)) for line in lines)


def _inserts(rand: random.Random, seconds: float) -> Iterator[Insert]:
    for number, at in enumerate(_times(rand, seconds, int(seconds) + 2)):
        limit = rand.choice(("", "", "gone"))
        yield Insert(at, rand.choice(("ok", "limited", "charge")), f"insert-{number}", limit)


def _lates(rand: random.Random, seconds: float) -> Iterator[Late]:
    for number, at in enumerate(_times(rand, seconds, SCHEDULES)):
        yield Late(at, f"tide-{number}", rand.randint(2, LONGEST_DAYS))


def _faults(rand: random.Random, seconds: float) -> Iterator[Fault]:
    unsafe_until = dict.fromkeys(SLOTS, 0.0)
    spared_until = dict.fromkeys(SLOTS, 0.0)  # whose word is to be late must live to see it
    for at, what in _dealt(rand, _FAULTS, seconds, 0.4):
        names = DRAINS if what in ("outage", "late word") else (*INTAKES, *DRAINS, *DRAINS, *TICKERS, OPERATOR)
        slot = rand.choice([name for name in names if spared_until[name] <= at] or names)
        if what in ("restart", "crash") and max(spared_until.values()) > at:
            what = "kill"
        if what == "late word":
            spared_until[slot] = at + LATENESS
        if what == "stop":
            slot = rand.choice([name for name in SLOTS if unsafe_until[name] <= at] or [slot])
            what = "kill" if unsafe_until[slot] > at else "stop"
        for name in SLOTS if what in ("restart", "crash") else (slot,):
            if what in _OUT_OF_TOUCH:
                unsafe_until[name] = max(unsafe_until[name], at + _OUT_OF_TOUCH[what])
        yield Fault(at, what, slot, _LONG.get(what) or rand.uniform(0.2, 0.7))


def _dealt(rand: random.Random, weights: dict[str, int], seconds: float, pace: float) -> Iterator[tuple[float, str]]:
    """One of these each `pace` seconds on average, from a shuffled deck, so that also a short run sees the rare ones."""
    deck: list[str] = []
    at = rand.uniform(0, pace)
    while at < seconds:
        if not deck:
            deck = [name for name, count in weights.items() for _ in range(count)]
            rand.shuffle(deck)
        yield at, deck.pop()
        at += rand.uniform(0.5, 1.5) * pace


def _times(rand: random.Random, seconds: float, count: int) -> list[float]:
    return sorted(rand.uniform(0, seconds) for _ in range(count))
