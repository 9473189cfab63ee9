"""Slots for processes: each runs one function under the real Lambda runtime client; who dies is replaced by the next one."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from local.sandbox import Answer, Sandbox
from local.template import Function

ROOT = Path(__file__).parents[2]

# Seconds, as template.yaml would say them; short, since the run is.
TIMEOUTS = {"intake": 8.0, "drain": 15.0, "schedule": 15.0, "replay": 12.0}


class Journal:
    """What the processes said, a file a slot, and what of it excuses an attempt that was claimed and never started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.deaths = 0  # processes that were killed, or ran into their function's timeout
        self.failures: Counter[str] = Counter()  # invocations that ended in an error, by its type
        self._troubled: set[int] = set()
        self._lock = threading.Lock()

    def died(self, pid: int) -> None:
        with self._lock:
            self.deaths += 1
            self._troubled.add(pid)

    def failed(self, answer: Answer) -> None:
        with self._lock:
            self.failures[json.loads(answer.payload)["errorType"]] += 1

    def troubled(self) -> frozenset[int]:
        """The processes that died, lost a lease, or lost touch with the database."""
        with self._lock:
            return frozenset(self._troubled)

    def say(self, slot: str, pid: int, line: str) -> None:
        with self._lock:
            with (self.folder / f"{slot}.log").open("a", encoding="utf-8") as file:
                file.write(f"{pid} {line}\n")
            if "lost lease" in line or "the database does not answer" in line or "Task timed out" in line:
                self._troubled.add(pid)


class Slot:
    """A place for a process of a function; `environment` is the process's. One thread at a time may invoke."""

    def __init__(self, name: str, function: str, environment: Mapping[str, str], journal: Journal) -> None:
        self.name = name
        self._journal = journal
        self._environment = environment
        self._function = _function(function)
        self._lock = threading.Lock()
        self._sandbox: Sandbox | None = None
        self._closed = False

    def invoke(self, event: object) -> Any:
        """Invoke with JSON and wait for JSON; None where the function failed, died or had no time left."""
        payload = json.dumps(event).encode()
        answer: Answer | None = None
        while answer is None and (sandbox := self._alive()) is not None:
            answer = sandbox.invoke(payload)
        if answer is None:
            return None
        if answer.failed:
            self._journal.failed(answer)
            return None
        return json.loads(answer.payload)

    def kill(self) -> None:
        """SIGKILL the process that is there."""
        with self._lock:
            if self._sandbox is not None and self._sandbox.alive:
                self._journal.died(self._sandbox.pid)
                self._sandbox.kill()

    def stop(self, seconds: float) -> None:
        """SIGSTOP the process that is there for so long."""
        with self._lock:
            sandbox = self._sandbox
            if sandbox is None or not sandbox.alive:
                return
            try:
                os.kill(sandbox.pid, signal.SIGSTOP)
                time.sleep(seconds)
            finally:
                with suppress(ProcessLookupError):
                    os.kill(sandbox.pid, signal.SIGCONT)

    def close(self) -> None:
        """Kill the process; none comes after it."""
        with self._lock:
            self._closed = True
            if self._sandbox is not None:
                self._sandbox.kill()
                self._sandbox.join()

    def _alive(self) -> Sandbox | None:
        with self._lock:
            if self._closed:
                return None
            if self._sandbox is None or not self._sandbox.alive:
                self._sandbox = self._start()
            return self._sandbox

    def _start(self) -> Sandbox:
        known = threading.Event()

        def say(line: str) -> None:
            known.wait()
            self._journal.say(self.name, sandbox.pid, line)

        sandbox = Sandbox(self._function, self._environment, say, lambda: None)
        known.set()
        return sandbox


def _function(name: str) -> Function:
    layers = (ROOT / "layers/tidemill/python", ROOT / "layers/automations/python")
    return Function(
        name=name, full_name=f"chaos-{name}", folder=ROOT / "functions" / name, handler="app.handler", runtime="python3.13",
        timeout=TIMEOUTS[name], memory=256, concurrency=None, event_age=60, environment={}, paths=layers, log_format="TEXT",
    )  # fmt: skip
