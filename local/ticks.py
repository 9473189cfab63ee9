"""The schedules of the template: each invokes its function at once, and then once a period."""

from __future__ import annotations

import threading
from collections.abc import Callable

from local.template import Tick


def start(tick: Tick, invoke_later: Callable[[bytes], None], ending: threading.Event) -> threading.Thread:
    """Tick in a thread of its own until `ending` is set."""

    def run() -> None:
        while True:
            invoke_later(tick.input.encode())
            if ending.wait(tick.period):
                return

    thread = threading.Thread(target=run, name=f"ticks of {tick.function}", daemon=True)
    thread.start()
    return thread
