"""Invoking the functions as Lambda does: one process an invocation, kept warm, at most so many at once."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from local.sandbox import Answer, Sandbox
from local.template import Function

Say = Callable[[str, str], None]  # the name of a function, and a line of its output

# However many a function may be in AWS: here they share one machine. More invocations wait for their turn.
MOST_PROCESSES = 6

_ENDING = Answer(b'{"errorType": "Ending", "errorMessage": "the local run is ending"}', failed=True)


class InvokeError(Exception):
    """A function that was invoked failed; the text is what Lambda would answer."""


class _Waiting(NamedTuple):
    event: bytes
    until: float  # monotonic


class Running:
    """A function and its processes. Each is started when an invocation needs it, and replaced when it has died."""

    def __init__(self, function: Function, environment: Mapping[str, str], say: Say) -> None:
        self.function = function
        self._environment = {**function.environment, **environment}
        self._say = say
        self._places = min(function.concurrency or MOST_PROCESSES, MOST_PROCESSES)
        self._condition = threading.Condition()
        self._idle: list[Sandbox] = []
        self._all: list[Sandbox] = []
        self._busy = 0
        self._closed = False
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._dispatcher = threading.Thread(target=self._dispatch, name=f"{function.name} queue", daemon=True)
        self._dispatcher.start()

    def invoke(self, event: bytes, patience: float) -> Answer | None:
        """Invoke and wait for the answer; None where no process was free within `patience` seconds."""
        return self._run(event) if self._take_place(patience) else None

    def invoke_later(self, event: bytes) -> None:
        """Queue an asynchronous invocation. One that finds no place within its greatest age is dropped, as in AWS."""
        self._queue.put(_Waiting(event, time.monotonic() + self.function.event_age))

    def processes(self) -> list[int]:
        """The ids of the processes that are alive."""
        with self._condition:
            return [one.pid for one in self._all if one.alive]

    def close(self, grace: float) -> None:
        """Take nothing more, give what runs `grace` seconds to end, and kill what is left."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._busy == 0, grace)
            sandboxes = list(self._all)
        self._queue.put(None)
        self._dispatcher.join()
        for one in sandboxes:
            one.kill()
        for one in sandboxes:
            one.join()

    def _take_place(self, patience: float) -> bool:
        with self._condition:
            self._condition.wait_for(lambda: self._busy < self._places or self._closed, patience)
            if self._closed or self._busy >= self._places:
                return False
            self._busy += 1
            return True

    def _run(self, event: bytes) -> Answer:
        answer = sandbox = None
        try:
            while answer is None and (sandbox := self._sandbox()) is not None:
                answer = sandbox.invoke(event)
            return answer or _ENDING
        finally:
            with self._condition:
                if sandbox is not None and sandbox.alive:
                    self._idle.append(sandbox)
                self._busy -= 1
                self._condition.notify_all()

    def _sandbox(self) -> Sandbox | None:
        """A warm one, or else a new one; None once this is closed."""
        with self._condition:
            if self._idle:
                return self._idle.pop()  # one that has died meanwhile says so when it is invoked
            if self._closed:
                return None
            name = self.function.name
            sandbox = Sandbox(self.function, self._environment, lambda line: self._say(name, line), self._forget_dead)
            self._all.append(sandbox)
            return sandbox

    def _forget_dead(self) -> None:
        with self._condition:
            self._all = [one for one in self._all if one.alive]

    def _dispatch(self) -> None:
        while (waiting := self._queue.get()) is not None:
            if self._take_place(max(waiting.until - time.monotonic(), 0)):
                threading.Thread(target=self._run, args=(waiting.event,), daemon=True).start()


class Functions:
    """All functions, by the name of their folder or their full name."""

    def __init__(self, functions: tuple[Function, ...], environment: Mapping[str, str], say: Say) -> None:
        self._running = {one.name: Running(one, environment, say) for one in functions}
        self._names = {one.full_name: one.name for one in functions}

    def __getitem__(self, name: str) -> Running:
        """Raises KeyError for a function that the template does not have."""
        return self._running[self._names.get(name, name)]

    def invoke(self, name: str, event: object, patience: float = 60) -> Any:
        """Invoke with JSON and wait for JSON. Raises InvokeError, also where no process was free for `patience` seconds."""
        answer = self[name].invoke(json.dumps(event).encode(), patience)
        if answer is None:
            raise InvokeError(f"{name} was too busy")
        if answer.failed:
            raise InvokeError(answer.payload.decode("utf-8", "replace"))
        return json.loads(answer.payload)

    def close(self, grace: float = 0) -> None:
        """End all of them at the same time; what runs has `grace` seconds."""
        threads = [threading.Thread(target=one.close, args=(grace,)) for one in self._running.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
