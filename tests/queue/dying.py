"""Processes that kill themselves between two statements, of the worker or of a handler, begin and commit included."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from tidemill.context import Connections, Tools
from tidemill.db import connect
from tidemill.hand import Parts
from tidemill.handlers import Handler
from tidemill.settings import Settings
from tidemill.telemetry import Log
from tidemill.wire import Connection

from tests.queue.hooked import Hooked


class Death:
    """Kills this process with SIGKILL before or after its n-th step, on whichever connection and in whichever thread."""

    def __init__(self, when: str, number: int) -> None:
        self._when = when
        self._number = number
        self._steps = itertools.count(1)

    @contextmanager
    def step(self) -> Iterator[None]:
        number = next(self._steps)
        self._strike("before", number)
        yield
        self._strike("after", number)

    def connect(self, url: str) -> Connection:
        """A connection that dies: each of its round trips is a step, those of begin and commit too."""
        connection = connect(url)
        wait = connection.wait

        def dying_wait(*given: Any, **named: Any) -> Any:
            with self.step():
                return wait(*given, **named)

        connection.wait = dying_wait  # type: ignore[method-assign]
        return connection

    def _strike(self, when: str, number: int) -> None:
        if (when, number) == (self._when, self._number):
            os.kill(os.getpid(), signal.SIGKILL)


class DyingDatabase(Hooked):
    """The statements of these names are steps."""

    def __init__(self, url: str, death: Death, *names: str) -> None:
        super().__init__(url)
        self._death = death
        self._names = names

    def around(self, name: str) -> AbstractContextManager[None]:
        return self._death.step() if name in self._names else nullcontext()


def dying_parts(url: str, death: Death, handler: Handler) -> Parts:
    settings = Settings({"DATABASE_URL": url})
    tools = Tools(settings, Log(), {}, Connections(url, death.connect))
    database = DyingDatabase(url, death, "claim", "settle")
    return Parts(database, {handler.kind: handler}, tools, "child", 1, 60, 0, lambda *one: None)


def in_a_process(work: Callable[[], object]) -> int:
    """Run it in a process of its own; returns the signal that ended it, 0 for none."""
    if (child := os.fork()) == 0:
        status = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
