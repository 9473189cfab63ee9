"""What the intake and the absorb function share: a genuine delivery is routed by the code of today, stored with its jobs,
and told of; whatever its routes do, it is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import psycopg

from tidemill import jsontext, telemetry
from tidemill.db import Database
from tidemill.model import Delivery
from tidemill.newjob import rows
from tidemill.settings import Settings
from tidemill.source import Source, routed
from tidemill.store import Arriving, Routed, Store, Stored
from tidemill.telemetry import Log


class Arrivals:
    """`limits` maps a kind to the name of its limit; `wake` asks for a drain; `once` as for the store."""

    def __init__(
        self,
        database: Database,
        sources: Mapping[str, Source],
        settings: Settings,
        log: Log,
        limits: Mapping[str, str],
        wake: Callable[[], None],
        once: bool = False,
    ) -> None:
        self.store = Store(database, once)
        self._database = database
        self._sources = sources
        self._settings = settings
        self._log = log
        self._limits = limits
        self._wake = wake

    def take(self, delivery: Delivery) -> Stored:
        """Store a delivery with its jobs, tell of it, and ask for a drain. Raises psycopg.Error as the store does."""
        arriving = self.route(delivery)
        try:
            stored = self.store.put(arriving)
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            arriving = self.without_jobs(arriving, error)
            stored = self.store.put(arriving)
        self.tell(arriving, stored)
        if stored.signals or (stored.jobs and not stored.duplicate):
            self.ask_for_drain()
        return stored

    def route(self, delivery: Delivery) -> Routed:
        """Let the routes of its source have a delivery. Raises psycopg.Error where the database did not answer a route."""
        event = Arriving(self._database, delivery)
        if (source := self._sources.get(delivery.source)) is None:  # it was there when the delivery was parked
            return Routed(event, rows([], {}), f"there is no source {delivery.source} any more")
        _, found, fault = routed(source, event, self._limits, self._settings.redact)
        if event.lost is not None:  # no fault of the route, though it may have been raised through it
            raise event.lost
        event.forget()
        return Routed(event, found, fault)

    def without_jobs(self, routed: Routed, error: psycopg.Error) -> Routed:
        """The event alone: the database has a rule that its jobs break, and the same delivery would meet it again."""
        fault = jsontext.safe(f"{type(error).__name__}: {error}", self._settings.redact)
        return Routed(routed.event, rows([], {}), fault)

    def tell(self, routed: Routed, stored: Stored) -> None:
        """A log line and metrics."""
        source = routed.event.source
        facts = {"source": source, "id": stored.id}
        if stored.duplicate:
            say = self._log.warning if stored.differs else self._log.info
            say("delivery", outcome="duplicate", mismatch=stored.differs, **facts)
            count(source, "EventsDuplicate")
        elif routed.fault is not None:
            self._log.error("delivery", outcome="unrouted", reason=routed.fault, **facts)
            count(source, "EventsAccepted", "EventsUnrouted")
        else:
            self._log.info("delivery", outcome="accepted", jobs=stored.jobs, **facts)
            count(source, "EventsAccepted")

    def ask_for_drain(self) -> None:
        try:
            self._wake()
        except Exception as error:  # it is stored, and the schedule wakes a drain within a minute
            self._log.warning("no drain was woken", error=type(error).__name__)


def count(source: str, *names: str) -> None:
    """One of each of these metrics, by source."""
    telemetry.write_lines([telemetry.metrics(dict.fromkeys(names, (1, "Count")), source=source)])
