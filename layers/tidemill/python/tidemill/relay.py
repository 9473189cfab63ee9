"""The relay: takes rows of the outbox that are due, sends them, and marks exactly what was accepted.

The state of a row stands in the row. A relay that dies leaves its rows leased; they are due again when that is over, so a
row may be sent twice, with the same id.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tidemill import jsontext, outbox, outlets
from tidemill.alerts import Alerts
from tidemill.db import Database
from tidemill.outbox import Target
from tidemill.outlets import LARGEST, Clients, Outgoing, Verdict
from tidemill.retry import backoff
from tidemill.telemetry import Log
from tidemill.wire import Row

SIZE = 200  # rows in one claim
BYTES = 16 * LARGEST  # of rows in memory at once
LEASE = 120.0  # seconds; sending one claim takes a part of it, also where each request takes as long as it may
THREADS = 8  # batches that are sent at once
WITHOUT_DEADLINE = 30.0  # seconds to work for where the context names no deadline
MARGIN = 30.0  # seconds before the deadline after which nothing more is claimed
TELL_AT = 5  # the attempt whose failure is told: after about five minutes


class Relay:
    """Made once a container. `make_client(target)` gives the client that a target is reached with."""

    def __init__(
        self,
        database: Database,
        targets: Mapping[str, Target],
        log: Log,
        alerts: Alerts,
        make_client: Clients = outlets.client,
    ) -> None:
        self._database = database
        self._targets = targets
        self._log = log
        self._alerts = alerts
        self._make_client = make_client
        self._clients: dict[tuple[str, str | None, str | None], Any] = {}

    def handle(self, event: object, context: object) -> dict[str, Any]:
        """Send until nothing is due or the time is nearly up; answers {"ok": true, "sent": n, "retried": n, "failed": n}.
        What is in the event makes no difference. Raises psycopg.OperationalError where the database is away."""
        remaining = getattr(context, "get_remaining_time_in_millis", None)
        seconds = remaining() / 1000 if remaining else WITHOUT_DEADLINE
        # A short time is used too: the first claim is always made.
        ends_at = time.monotonic() + seconds - min(MARGIN, seconds / 2)
        try:
            return {"ok": True, **self._work(ends_at)}
        finally:
            self._alerts.flush()

    def _work(self, ends_at: float) -> dict[str, int]:
        counts: Counter[str] = Counter()
        with ThreadPoolExecutor(THREADS, thread_name_prefix="relay") as pool:
            while True:
                rows = self._claim()
                verdicts = self._send(rows, pool)
                self._settle(verdicts)
                counts.update(verdict.word for verdict in verdicts)
                if not rows or time.monotonic() >= ends_at:
                    return {word: counts[word] for word in ("sent", "retried", "failed")}

    def _claim(self) -> list[Row]:
        return self._database.execute("outbox_claim", {"size": SIZE, "bytes": BYTES, "largest": LARGEST, "lease": LEASE})

    def _send(self, rows: Iterable[Row], pool: ThreadPoolExecutor) -> list[Verdict]:
        verdicts: list[Verdict] = []
        ready: dict[str, list[Outgoing]] = defaultdict(list)
        for row in map(_outgoing, rows):
            if fault := self._fault(row):
                verdicts.append(Verdict(row, "failed", fault))
            else:
                ready[row.topic].append(row)
        work = [
            (self._client(target), target, batch)
            for topic, outgoing in ready.items()
            for target in [self._targets[topic]]
            for batch in outlets.batches(target, outgoing)
        ]
        for sent in pool.map(lambda one: outlets.send(*one), work):
            verdicts += sent
        return verdicts

    def _fault(self, row: Outgoing) -> str | None:
        if row.topic not in self._targets:
            # without_target.sql and its index know these rows by their first words.
            return f"no target for the topic {row.topic!r} in OUTBOX_TARGETS"
        return f"over {LARGEST} bytes with its attributes" if not row.body or row.size() > LARGEST else None

    def _client(self, target: Target) -> Any:
        which = (target.service, target.region, target.endpoint)
        if which not in self._clients:
            self._clients[which] = self._make_client(target)
        return self._clients[which]

    def _settle(self, verdicts: list[Verdict]) -> None:
        if not verdicts:
            return
        self._database.execute("outbox_settle", {
            "ids": [one.row.id for one in verdicts],
            "attempts": [one.row.attempt for one in verdicts],
            "words": [one.word for one in verdicts],
            "delays": [backoff(one.row.attempt) for one in verdicts],
            "errors": [one.error and jsontext.clean(one.error) for one in verdicts],
        })  # fmt: skip
        self._say([one for one in verdicts if one.word != "sent"])

    def _say(self, troubled: list[Verdict]) -> None:
        told: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
        without_target: set[str] = set()
        for one in troubled:
            self._log.warning(
                f"outbox row {one.word}", row=one.row.id, topic=one.row.topic, attempt=one.row.attempt, reason=one.error,
                correlation_id=one.row.attributes.get("correlation_id", ""),
            )  # fmt: skip
            if one.row.topic not in self._targets:
                without_target.add(one.row.topic)
            elif one.word == "failed" or one.row.attempt == TELL_AT:
                told[one.row.topic, one.word].append(one)
        for (topic, word), verdicts in told.items():
            what = "was set aside" if word == "failed" else f"could not be sent {TELL_AT} times"
            ids = ", ".join(str(one.row.id) for one in verdicts[:10])
            text = f"outbox: of the topic {topic!r} what has the id {ids} {what}: {verdicts[0].error}"
            self._alerts.alert(text, key=f"outbox {topic} {word}")
        if without_target:
            self._tell_once(outbox.without_target(without_target))

    def _tell_once(self, wrong: Mapping[str, str]) -> None:
        """Tell the troubles that are new; the watch tells when they are over."""
        names = {"names": list(wrong), "details": list(wrong.values())}
        for (name,) in self._database.execute("trouble_begins", names):
            self._alerts.alert(wrong[name], key=f"{name} begins")


def _outgoing(row: Row) -> Outgoing:
    number, topic, attempt, attributes, body = row
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in attributes.items()}
    # SQS takes no empty value.
    given = {name: value for name, value in texts.items() if value}
    return Outgoing(number, topic, body or "", {**given, "id": str(number), "topic": topic}, attempt)
