"""A worker in a process of its own, which can be told to die at a statement: `python -m tests.queue.child URL [STEP]`.

STEP is `before:N` or `after:N`: SIGKILL just before, or just after, its N-th statement. Each start of a handler is a line on
stderr, written before anything else can happen.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tidemill.context import Connections, Tools
from tidemill.db import connect
from tidemill.hand import Parts
from tidemill.handlers import Handler
from tidemill.settings import Settings
from tidemill.telemetry import Log
from tidemill.worker import Worker

from tests.queue.hooked import Hooked


class DyingDatabase(Hooked):
    def __init__(self, url: str, step: str) -> None:
        super().__init__(url)
        self._when, _, number = step.partition(":")
        self._left = int(number or 0)

    @contextmanager
    def around(self, name: str) -> Iterator[None]:
        self._left -= 1
        if self._left == 0 and self._when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        yield
        if self._left == 0 and self._when == "after":
            os.kill(os.getpid(), signal.SIGKILL)


def work(job: Any, ctx: Any) -> str:
    say(job)
    return "done"


def kill(job: Any, ctx: Any) -> None:
    say(job)
    time.sleep(0.05)
    os._exit(137)


def hold(job: Any, ctx: Any) -> None:
    say(job)
    time.sleep(60)


def say(job: Any) -> None:
    os.write(2, f"start {job.kind} {job.id}\n".encode())


def main(url: str, step: str = "") -> None:
    settings = Settings({"DATABASE_URL": url})
    handlers = {
        "work": Handler("work", work),
        "kill": Handler("kill", kill),
        "hold": Handler("hold", hold, limit_name="held", limit_size=2),
        "limited": Handler("limited", work, limit_name="held", limit_size=2),
    }
    limits = {one.kind: one.limit_name for one in handlers.values() if one.limit_name}
    tools = Tools(settings, Log(settings.redact), limits, Connections(url, connect))
    Worker(Parts(DyingDatabase(url, step), handlers, tools, "child", 4, 60, 0, lambda *one: None)).drain(120)


if __name__ == "__main__":
    main(*sys.argv[1:])
