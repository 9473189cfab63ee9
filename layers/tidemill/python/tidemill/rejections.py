"""What was refused, made visible without being stored: counts by source, reason and hour.

An attacker must not be able to make us write: a container writes ten counts at once at most, and one a second in the long
run; what comes in between is added to the next one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import psycopg

from tidemill import jsontext
from tidemill.db import Database
from tidemill.telemetry import Log

BURST = 10.0
A_SECOND = 1.0
MOST_KINDS = 1000  # of (source, reason) that wait to be written


class Rejections:
    """`clock` tells monotonic seconds."""

    def __init__(self, database: Database, log: Log, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._log = log
        self._clock = clock
        self._waiting: Counter[tuple[str, str]] = Counter()
        self._allowed = BURST
        self._counted_at = clock()

    def note(self, source: str, reason: str) -> None:
        """Count a refusal; `reason` is one of ours. Never raises: the answer to the sender does not depend on it."""
        key = (source, jsontext.clean(reason, 200))
        if key in self._waiting or len(self._waiting) < MOST_KINDS:
            self._waiting[key] += 1
        now = self._clock()
        self._allowed = min(BURST, self._allowed + (now - self._counted_at) * A_SECOND)
        self._counted_at = now
        while self._waiting and self._allowed >= 1 and self._write():
            self._allowed -= 1

    def _write(self) -> bool:
        (source, reason), count = next(iter(self._waiting.items()))
        try:
            self._database.execute("rejected", {"source": source, "reason": reason, "count": count})
        except psycopg.Error as error:
            self._allowed = 0.0
            self._log.warning("refusals were not counted", error=type(error).__name__)
            return False
        del self._waiting[source, reason]
        return True
