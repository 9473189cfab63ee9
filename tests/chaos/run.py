"""One chaos run: everything is started, disturbed for a time, left in peace until nothing is open, and ended."""

from __future__ import annotations

import os
import secrets
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import psycopg

from local.postgres import Postgres
from local.telegram import Telegram
from tests.chaos import ground
from tests.chaos.disturber import Disturber
from tests.chaos.evidence import Evidence, gather
from tests.chaos.ground import Hands
from tests.chaos.links import Link
from tests.chaos.operator import Operator
from tests.chaos.plan import DRAINS, INTAKES, OPERATOR, SLOTS, TICKERS, Plan
from tests.chaos.provider import Provider
from tests.chaos.sender import Sender
from tests.chaos.slots import ROOT, Journal, Slot

LEASE = 3  # seconds
PEACE = 300.0  # seconds at most that all may take to end once nothing is disturbed

# Commits reach the operating system, so a server that is killed loses none; the disk's own failures are not in this test.
_SERVER = {"fsync": "off", "full_page_writes": "off"}
_FUNCTIONS = {
    **dict.fromkeys(INTAKES, "intake"), **dict.fromkeys(DRAINS, "drain"), **dict.fromkeys(TICKERS, "schedule"),
    OPERATOR: "replay",
}  # fmt: skip


class Run:
    """Everything of a run; `folder` takes the server's data, the logs and the starts. `say` hears how it goes."""

    def __init__(self, plan: Plan, folder: Path, say: Callable[[str], None]) -> None:
        self._plan = plan
        self._folder = folder
        self._say = say
        self._peace = threading.Event()
        self._ended = threading.Event()
        self._reached = threading.Event()  # all that is in the plan of the hands is done
        self._troubles: list[str] = []
        self._exits = ExitStack()

    def __enter__(self) -> Run:
        try:
            self._set_up()
        except BaseException:
            self._exits.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._exits.close()

    def go(self) -> Evidence:
        """Run it all; the evidence of what happened."""
        self._warm_up()
        self._started = time.monotonic()
        threads = [threading.Thread(target=self._guarded, args=one, daemon=True) for one in self._actors()]
        for thread in threads:
            thread.start()
        self._say(f"disturbing {len(self._plan.deliveries)} deliveries for {self._plan.seconds:g} s")
        time.sleep(self._plan.seconds)
        self._make_peace()
        self._wait_until_all_is_over()
        self._ended.set()
        for thread in threads:
            thread.join(30)
        return gather(
            plan=self._plan, hands=self._hands(), journal=self._journal, senders=self._senders, provider=self._provider,
            told=[sent.text for sent in self._telegram.sent], starts=self._folder / "starts", troubles=self._troubles,
            faults=self._disturber.caused, late=self._disturber.late, commands=self._operator.outcomes,
            lost=sum(link.lost for link in self._links.values()),
        )  # fmt: skip

    def _set_up(self) -> None:
        self._journal = Journal(self._folder)
        self._postgres = self._exits.enter_context(Postgres(self._folder / "data", _SERVER))
        self._url = self._postgres.url(ground.NAME)
        ground.prepare(self._postgres.url(), self._url)
        self._telegram = Telegram()
        self._exits.callback(self._telegram.close)
        self._provider = Provider(self._plan.seed)
        self._exits.callback(self._provider.close)
        parts = psycopg.conninfo.conninfo_to_dict(self._url)
        socket = f"{parts['host']}/.s.PGSQL.{parts.get('port', 5432)}"
        secret = secrets.token_hex(16)
        self._links: dict[str, Link] = {}
        self._slots: dict[str, Slot] = {}
        for name in SLOTS:
            link = self._links[name] = Link(socket)
            self._exits.callback(link.close)
            slot = self._slots[name] = Slot(name, _FUNCTIONS[name], self._environment(name, link, secret), self._journal)
            self._exits.callback(slot.close)
        self._senders = [
            Sender(self._slots[name], sends, secret) for name, sends in zip(INTAKES, self._plan.sends, strict=True)
        ]
        self._operator = Operator(self._slots[OPERATOR], self._hands(), self._plan.commands)
        self._disturber = Disturber(self._plan.faults, self._slots, self._links, self._postgres, self._telegram, self._url)

    def _environment(self, slot: str, link: Link, secret: str) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": os.pathsep.join(str(ROOT / path) for path in ("layers/tidemill/python", "")),
            "AUTOMATIONS": "tests.chaos.automations",
            "DATABASE_URL": f"postgresql://{slot}@127.0.0.1:{link.port}/{ground.NAME}",
            "LEASE_SECONDS": str(LEASE),
            "DRAIN_LINGER": "0.3",
            "CHAOS_WEBHOOK_SECRET": secret,
            "CHAOS_PROVIDER": self._provider.url,
            "CHAOS_STARTS": str(self._folder / "starts"),
            "TELEGRAM_API": self._telegram.url,
            "TELEGRAM_BOT_TOKEN": "1:chaos",
            "TELEGRAM_ALERT_CHAT_ID": "1",
        }

    def _hands(self) -> Hands:
        hands = Hands(self._url)
        self._exits.callback(hands.close)
        return hands

    def _warm_up(self) -> None:
        """Each process is started and has answered once; the schedules have been seen."""
        health = {"rawPath": "/health", "requestContext": {"http": {"method": "GET"}}}
        events: dict[str, object] = {"intake": health, "replay": {"command": "stats"}}

        def warm(slot: Slot, function: str) -> None:
            if slot.invoke(events.get(function, {})) is None:
                self._troubles.append(f"{slot.name} could not be started")

        threads = [threading.Thread(target=warm, args=(self._slots[name], _FUNCTIONS[name])) for name in SLOTS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    # Those who act, each in a thread of its own

    def _actors(self) -> list[tuple[str, Callable[[], None]]]:
        actors: list[tuple[str, Callable[[], None]]] = [
            ("faults", lambda: self._disturber.run(self._peace, self._now)),
            ("hands", self._reach_in),
            ("operator", lambda: self._operator.run(self._peace, self._now, self._ended)),
        ]
        for number, sender in enumerate(self._senders):
            actors.append((f"sender {number}", lambda one=sender: one.run(self._peace, self._now, self._ended)))  # type: ignore[misc]
        for name in (*DRAINS, *TICKERS):
            pause = 0.05 if name in DRAINS else 0.7
            actors.append((name, lambda slot=self._slots[name], pause=pause: self._again_and_again(slot, pause)))  # type: ignore[misc]
        return actors

    def _guarded(self, name: str, act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException:
            self._troubles.append(f"{name}: {traceback.format_exc()}")

    def _now(self) -> float:
        return time.monotonic() - self._started

    def _again_and_again(self, slot: Slot, pause: float) -> None:
        while not self._ended.wait(pause):
            slot.invoke({})

    def _reach_in(self) -> None:
        """Other languages insert, schedules are late, and time passes for what waits."""
        hands = self._hands()
        inserts, lates = list(self._plan.inserts), list(self._plan.lates)
        while not self._ended.wait(0.4):
            now = float("inf") if self._peace.is_set() else self._now()
            while inserts and inserts[0].at <= now:
                hands.insert(inserts.pop(0))
            while lates and lates[0].at <= now:
                hands.be_late(lates.pop(0))
            hands.let_time_pass()
            if not inserts and not lates:
                self._reached.set()

    # The end

    def _make_peace(self) -> None:
        self._peace.set()
        self._provider.calm()
        self._telegram.recover()
        for link in self._links.values():
            link.heal()
        self._say("nothing is disturbed any more; waiting until nothing is open")

    def _wait_until_all_is_over(self) -> None:
        hands = self._hands()
        until = time.monotonic() + PEACE
        while sum(sender.left for sender in self._senders) or not self._reached.is_set() or not hands.at_rest():
            if time.monotonic() > until:
                self._troubles.append(f"it did not come to an end within {PEACE:g} s")
                return
            hands.let_the_dead_lie()
            time.sleep(0.3)
