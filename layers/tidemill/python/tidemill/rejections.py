"""What was refused, made visible without being stored: a log line, a metric, and counts by source, reason and hour, each
with a sample.

An attacker must not be able to make us write, or keep, what he likes. A container writes ten counts at once at most, and one
a second in the long run; what comes in between is added to the next one. A source has MOST_REASONS reasons in an hour, and
what is addressed to no source is counted as one. Of a request there is kept how it looked, and nothing of what it said.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import psycopg

from tidemill import gateway, jsontext, telemetry
from tidemill.db import Database
from tidemill.telemetry import Log

BURST = 10.0
A_SECOND = 1.0
MOST_REASONS = 20  # of a source: in what waits to be written, and in an hour of the table
MOST_HEADERS = 30
NO_SOURCE = "(none)"  # what no source can be called
OTHER = "another reason"

# The reasons of the metric, by the status that was answered: each is paid for as a metric of its own.
REASONS = {
    400: "undecodable",
    401: "unverified",
    404: "no source",
    405: "method",
    413: "too large",
    503: "not set up",
}


class Rejections:
    """`redact` takes secrets out of a text; `clock` tells monotonic seconds."""

    def __init__(
        self,
        database: Database,
        log: Log,
        redact: Callable[[str], str] = str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._log = log
        self._redact = redact
        self._clock = clock
        self._waiting: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {}
        self._allowed = BURST
        self._counted_at = clock()

    def note(self, event: object, source: str, status: int, reason: str) -> None:
        """An API Gateway event was refused, with one of the statuses of REASONS; `source` is a configured one or NO_SOURCE.
        Never raises: the answer to the sender does not depend on it."""
        reason = self._shown(reason, 200)
        sample = self._sample(event, status)
        self._log.warning("delivery", outcome="refused", source=source, status=status, reason=reason, path=sample["path"])
        count = {"EventsRejected": (1, "Count")}
        telemetry.write_lines([telemetry.metrics(count, source=source, reason=REASONS[status])])
        self._count(source, reason, sample)
        now = self._clock()
        self._allowed = min(BURST, self._allowed + (now - self._counted_at) * A_SECOND)
        self._counted_at = now
        while self._waiting and self._allowed >= 1 and self._write():
            self._allowed -= 1

    def _count(self, source: str, reason: str, sample: dict[str, Any]) -> None:
        if (source, reason) not in self._waiting and sum(one == source for one, _ in self._waiting) >= MOST_REASONS:
            reason = OTHER
        count, _ = self._waiting.get((source, reason), (0, None))
        self._waiting[source, reason] = (count + 1, sample)

    def _sample(self, event: object, status: int) -> dict[str, Any]:
        """How the request looked: a path without its query, names of headers without their values, the size of the body."""
        names = dict.fromkeys(name.lower() for name, _ in gateway.headers_of(event))
        return {
            "status": status,
            "method": self._shown(gateway.method_of(event), 20),
            "path": self._shown(unquote(gateway.path_of(event)), 200),
            "headers": [self._shown(name, 60) for name in list(names)[:MOST_HEADERS]],
            "body_bytes": gateway.body_size(event),
            "source_ip": self._shown(gateway.source_ip_of(event), 60),
        }

    def _shown(self, text: str, limit: int) -> str:
        return jsontext.safe(text, self._redact, limit)

    def _write(self) -> bool:
        (source, reason), (count, sample) = next(iter(self._waiting.items()))
        facts = {"source": source, "reason": reason, "count": count, "sample": jsontext.dumps(sample)}
        try:
            self._database.execute("rejected", {**facts, "most": MOST_REASONS, "other": OTHER})
        except psycopg.Error as error:
            self._allowed = 0.0
            self._log.warning("refusals were not counted", error=type(error).__name__)
            return False
        del self._waiting[source, reason]
        return True
