"""A stand-in for a provider: takes charges, one for each Idempotency-Key, and calls at a gate, of which it counts how many
are in it at once. It fails as the seed says: 500, 503 and 429 with Retry-After, silence, an answer lost after the work."""

from __future__ import annotations

import json
import random
import select
import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import NamedTuple

from local.server import Handler, Server

STAY = 0.1  # seconds that a call is in the gate; short, since a worker out of touch may start one near the end of its lease
SILENCE = 1.5  # seconds; longer than the handlers wait

_LARGEST = 1 << 16
_MOODS = {"well": 60, "500": 10, "503": 5, "429": 5, "silent": 4, "silent after the work": 4, "lost after the work": 12}
_GATE_MOODS = {"well": 85, "500": 10, "429": 3, "lost after the work": 2}


class Charge(NamedTuple):
    """An effect that happened: what it was for, and the correlation id of who asked for it."""

    key: str
    purpose: str
    correlation_id: str


class Provider:
    """Listens from the moment it is made until `close`."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._lock = threading.Lock()
        self._calls: Counter[str] = Counter()
        self._inside: dict[socket.socket, str] = {}
        self._calm = False
        self.charges: dict[str, Charge] = {}
        self.replays = 0  # charges that were asked for again under their key
        self.moods: Counter[str] = Counter()
        self.most_inside = 0
        self.crowds: list[list[str]] = []  # who was in the gate when it was more than before
        self._server = Server(_api(self))

    @property
    def url(self) -> str:
        return self._server.url

    def calm(self) -> None:
        """Fail no more."""
        self._calm = True

    def close(self) -> None:
        self._server.close()

    def mood(self, key: str, weights: dict[str, int]) -> str:
        """How the provider takes the next call with this key: the same for one seed, whoever comes first."""
        with self._lock:
            self._calls[key] += 1
            rand = random.Random(f"{self._seed} {key} {self._calls[key]}")
            mood = "well" if self._calm else rand.choices(list(weights), list(weights.values()))[0]
            self.moods[mood] += 1
            return mood

    def charge(self, key: str, purpose: str, correlation_id: str) -> None:
        with self._lock:
            if key in self.charges:
                self.replays += 1
            else:
                self.charges[key] = Charge(key, purpose, correlation_id)

    def enter(self, caller: socket.socket, who: str) -> None:
        """A call is in the gate. One whose caller has hung up or died is in it no longer."""
        with self._lock:
            self._inside = {one: name for one, name in self._inside.items() if not _hung_up(one)}
            self._inside[caller] = who
            if len(self._inside) > self.most_inside:
                self.most_inside = len(self._inside)
                self.crowds.append(list(self._inside.values()))

    def leave(self, caller: socket.socket) -> None:
        with self._lock:
            self._inside.pop(caller, None)


def _hung_up(caller: socket.socket) -> bool:
    try:
        readable, _, _ = select.select([caller], [], [], 0)
        return bool(readable) and not caller.recv(1, socket.MSG_PEEK)
    except (OSError, ValueError):  # reset, or closed here
        return True


def _api(provider: Provider) -> type[Handler]:
    class Api(Handler):
        def respond(self) -> None:
            body = json.loads(self.read_body(_LARGEST) or b"{}")
            if self.path == "/charges":
                self.charge(body)
            else:
                self.gate(body)

        def charge(self, body: dict[str, str]) -> None:
            key = self.headers.get("Idempotency-Key", "")
            mood = provider.mood(key, _MOODS)
            if mood == "well" or mood.endswith("after the work"):
                provider.charge(key, body["purpose"], self.headers.get("X-Correlation-Id", ""))
            self.end(mood)

        def gate(self, body: dict[str, str]) -> None:
            mood = provider.mood(f"gate {body['job']}", _GATE_MOODS)
            provider.enter(self.connection, f"job {body['job']} in process {body['process']}")
            try:
                time.sleep(STAY)
            finally:
                provider.leave(self.connection)  # before the answer: the caller may be quick
            self.end(mood)

        def end(self, mood: str) -> None:
            if mood.startswith("silent"):
                time.sleep(SILENCE)
            if mood.startswith(("silent", "lost")):
                self.close_connection = True
                with suppress(OSError):
                    self.connection.shutdown(socket.SHUT_RDWR)
            elif mood == "well":
                self.answer_json(200, "{}")
            else:
                headers = () if mood == "500" else (("Retry-After", "1"),)
                self.answer_json(int(mood), "{}", *headers)

    return Api
