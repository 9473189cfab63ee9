"""EventBridge Scheduler's part in the local run."""

from __future__ import annotations

import threading

from local import ticks
from local.template import Tick


def test_a_schedule_ticks_at_once_and_then_each_period_until_the_end() -> None:
    events: list[bytes] = []
    ending, third = threading.Event(), threading.Event()

    def invoke_later(event: bytes) -> None:
        events.append(event)
        if len(events) == 3:
            third.set()

    thread = ticks.start(Tick("drain", 0.01, '{"a": 1}'), invoke_later, ending)
    assert third.wait(20)
    ending.set()
    thread.join(20)
    assert not thread.is_alive()
    assert set(events) == {b'{"a": 1}'}


def test_the_first_tick_does_not_wait_for_a_period() -> None:
    ticked, ending = threading.Event(), threading.Event()
    thread = ticks.start(Tick("drain", 3600, "{}"), lambda event: ticked.set(), ending)
    assert ticked.wait(20)
    ending.set()
    thread.join(20)
    assert not thread.is_alive()
