"""The absorb function: what was parked comes by a queue, and is stored by the rules of the intake, with the time when the
intake received it.

A message that is reported comes again. One that was stored is known by its token, so that coming again makes no second
event, also of a source without dedup keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import psycopg

from tidemill import park, telemetry
from tidemill.alerts import Alerts
from tidemill.arrival import Arrivals
from tidemill.db import Database
from tidemill.errors import NotParked
from tidemill.model import Delivery
from tidemill.park import Parking, Part
from tidemill.retry import backoff
from tidemill.store import Routed, Stored
from tidemill.telemetry import Log

LONGEST_PAUSE = 300.0  # seconds until a message that could not be stored comes again, at most
TRUSTED_RECEIVES = 3  # what came oftener may have killed its process: it is stored after the others, and alone

Result = tuple[Routed, Stored | None]  # None: it had been stored before


class Entry(NamedTuple):
    """A message from the queue; `receives` counts from 1."""

    id: str
    receipt: str
    receives: int
    body: object


class AbsorbFunction:
    """Made once a container. `parking` is the queue that messages come from, None where nobody said: then a message that is
    reported comes again when the queue's own visibility timeout is over."""

    def __init__(self, database: Database, arrivals: Arrivals, parking: Parking | None, log: Log, alerts: Alerts) -> None:
        self._database = database
        self._arrivals = arrivals
        self._parking = parking
        self._log = log
        self._alerts = alerts

    def handle(self, event: Mapping[str, Any], context: object) -> dict[str, Any]:
        """Store what the messages carry; answers {"batchItemFailures": [{"itemIdentifier": id}]} with those that are to come
        again: malformed ones, until they are among the dead letters, and all that the database does not take."""
        entries = [_entry(record) for record in event.get("Records", ())]
        trusted = [one for one in entries if one.receives <= TRUSTED_RECEIVES]
        rounds = [trusted, *([one] for one in entries if one.receives > TRUSTED_RECEIVES)]
        reported = [one for entries in rounds for one in self._absorb(entries)]
        self._alerts.flush()
        return {"batchItemFailures": [{"itemIdentifier": one.id} for one in reported]}

    def _absorb(self, entries: Sequence[Entry]) -> list[Entry]:
        """Store what these carry, together; returns those that are to come again."""
        malformed: list[Entry] = []
        failed: list[Entry] = []
        carriers: dict[str, list[Entry]] = defaultdict(list)
        deliveries: dict[str, Delivery] = {}
        delivery: Delivery | Part | None
        in_parts: set[str] = set()
        for one in entries:
            try:
                delivery = park.read(one.body)
                if isinstance(delivery, Part):
                    in_parts.add(delivery.token)
                    delivery = self._whole(delivery)
            except ValueError as error:
                self._tell_of_malformed(one, error)
                malformed.append(one)
            except psycopg.Error as error:
                self._say(error)
                failed.append(one)
            else:
                if delivery is not None:
                    deliveries[delivery.token] = delivery
                    carriers[delivery.token].append(one)
        stored = self._store(deliveries.values())
        self._forget_parts(in_parts & stored)
        failed += [one for token in deliveries if token not in stored for one in carriers[token]]
        self._pause(failed)
        return malformed + failed

    def _whole(self, part: Part) -> Delivery | None:
        """The delivery of a part, once all parts are there. Raises psycopg.Error, and ValueError where they make none."""
        self._database.execute("part_arrived", part._asdict())
        rows = self._database.execute("parts", {"token": part.token, "of": part.of})
        whole = park.read("".join(data for (data,) in rows)) if rows else None
        if isinstance(whole, Part):
            raise ValueError("a part of parts")
        return whole

    def _store(self, deliveries: Iterable[Delivery]) -> set[str]:
        """Route and store them; returns the tokens of those that are stored by now."""
        waiting = [one for one in map(self._route, deliveries) if one is not None]
        results: list[Result] = []
        while waiting:
            together, waiting = _distinct(waiting)
            results += self._put(together)
        self._tell(results)
        return {routed.event.token for routed, _ in results}

    def _route(self, delivery: Delivery) -> Routed | None:
        with telemetry.correlated(delivery.correlation_id):
            try:
                return self._arrivals.route(delivery)
            except psycopg.Error as error:
                self._say(error)
                return None

    def _put(self, together: list[Routed]) -> list[Result]:
        """Store them in one statement, or where one is refused, each in its own. What is not returned is not stored."""
        try:
            return list(zip(together, self._arrivals.store.put_parked(together), strict=True))
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            if len(together) == 1:
                return self._put_again(together[0], error)
            return [result for one in together for result in self._put([one])]
        except psycopg.Error as error:
            self._say(error)
            return []

    def _put_again(self, routed: Routed, error: psycopg.Error) -> list[Result]:
        """One that was refused lies in its jobs; or another has stored it at the same moment, which is known by now."""
        routed = self._arrivals.without_jobs(routed, error)
        try:
            return [(routed, self._arrivals.store.put_parked([routed])[0])]
        except psycopg.Error as fault:
            self._say(fault)
            return []

    def _tell(self, results: Sequence[Result]) -> None:
        stored = [(routed, one) for routed, one in results if one is not None]
        for routed, one in stored:
            with telemetry.correlated(routed.event.correlation_id):
                self._arrivals.tell(routed, one)
        if any(one.signals or (one.jobs and not one.duplicate) for _, one in stored):
            self._arrivals.ask_for_drain()

    def _forget_parts(self, tokens: set[str]) -> None:
        try:
            if tokens:
                self._database.execute("parts_gone", {"tokens": sorted(tokens)})
        except psycopg.Error as error:  # they go when they are old
            self._say(error)

    def _pause(self, failed: Sequence[Entry]) -> None:
        """Let them come again sooner than the queue would. Best effort."""
        if self._parking is None or not failed:
            return
        try:
            self._parking.hide({one.receipt: min(backoff(one.receives), LONGEST_PAUSE) for one in failed})
        except NotParked as error:
            self._log.warning("messages could not be put off", reason=str(error))

    def _say(self, error: psycopg.Error) -> None:
        self._log.error("not absorbed yet", error=type(error).__name__, reason=self._log.short(error))

    def _tell_of_malformed(self, entry: Entry, error: ValueError) -> None:
        text = f"the parking queue holds what is no delivery, and it will end among the dead letters: {error}"
        self._log.error("malformed", message_id=entry.id, reason=self._log.short(error, 300))
        self._alerts.alert(text[:500], key="parking malformed")


def _distinct(routed: Sequence[Routed]) -> tuple[list[Routed], list[Routed]]:
    """The first of each source and dedup key, and the others: a statement takes a key once."""
    first: dict[tuple[str, str], Routed] = {}
    others = []
    for one in routed:
        key = (one.event.source, f"key {one.event.dedup_key}" if one.event.dedup_key else f"token {one.event.token}")
        if first.setdefault(key, one) is not one:
            others.append(one)
    return list(first.values()), others


def _entry(record: Mapping[str, Any]) -> Entry:
    """A record of an SQS event. Raises KeyError where it has no messageId, without which nothing could be reported."""
    receives = int(record.get("attributes", {}).get("ApproximateReceiveCount", 1))
    return Entry(record["messageId"], record.get("receiptHandle", ""), receives, record.get("body"))
