"""Causes the faults of the plan, one after the other."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing

import psycopg
from tidemill.wire import statement

from local.postgres import Postgres
from local.telegram import Telegram
from tests.chaos.ground import Hands
from tests.chaos.links import Link
from tests.chaos.plan import Fault
from tests.chaos.slots import Slot

REFUSALS = 3  # that Telegram answers with; the second one to a message makes its sender wait

_settles = "|".join(re.escape(statement(name)[:60]) for name in ("settle", "claim"))


class Disturber:
    """`caused` counts the faults, `late` the words of a worker that reached the database when they were true no longer."""

    def __init__(
        self,
        faults: tuple[Fault, ...],
        slots: Mapping[str, Slot],
        links: Mapping[str, Link],
        postgres: Postgres,
        telegram: Telegram,
        url: str,
    ) -> None:
        self._faults = faults
        self._slots = slots
        self._links = links
        self._postgres = postgres
        self._telegram = telegram
        self._url = url
        self.caused: Counter[str] = Counter()
        self.late = 0

    def run(self, until: threading.Event, since_start: Callable[[], float]) -> None:
        """Cause each fault at its time, until there is to be peace."""
        for fault in self._faults:
            if until.wait(max(fault.at - since_start(), 0.0)):
                return
            self.caused[fault.what] += 1
            self._cause(fault)

    def _cause(self, fault: Fault) -> None:
        slot, link = self._slots[fault.slot], self._links[fault.slot]
        match fault.what:
            case "kill":
                slot.kill()
            case "stop":
                slot.stop(fault.seconds)
            case "cut":
                link.cut()
            case "lose answer":
                link.lose_answer()
            case "hold" | "outage":
                link.hold(fault.seconds)
            case "late word":
                threading.Thread(target=self._be_late, args=(fault,), name="late word", daemon=True).start()
            case "restart":
                self._postgres.restart()
            case "crash":
                self._crash()
            case "telegram":
                self._telegram.fail(REFUSALS)

    def _be_late(self, fault: Fault) -> None:
        """What a worker says at the end of a slow job reaches the database when the job is another worker's already."""
        link = self._links[fault.slot]
        until = time.monotonic() + fault.seconds
        with closing(Hands(self._url)) as hands:
            jobs = "|".join(str(job) for job in hands.unfinished("chaos.slow"))
            link.hold_from(re.compile(f"(?:{_settles}).*[{{,]({jobs})[,}}]".encode(), re.DOTALL), fault.seconds)
            while not link.heard and time.monotonic() < until:
                time.sleep(0.02)
            if link.heard:
                hands.end_lease(int(link.heard))
            while link.heard and time.monotonic() < until:
                if hands.is_of_another(int(link.heard), fault.slot):
                    self.late += 1
                    break
                time.sleep(0.05)
        link.heal()

    def _crash(self) -> None:
        """Kill one of the server's processes; it then ends all of them and recovers, as after a fault of its own."""
        with psycopg.connect(self._postgres.url()) as connection:
            os.kill(connection.info.backend_pid, signal.SIGKILL)
