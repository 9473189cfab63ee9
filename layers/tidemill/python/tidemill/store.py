"""The store behind the intake: an event, its jobs and its signals in one statement, and what its status address tells."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping, Sequence
from datetime import UTC
from functools import cached_property
from typing import Any, NamedTuple

import psycopg
from psycopg.types.json import Json

from tidemill import jsontext
from tidemill.db import Database
from tidemill.model import Delivery, Event
from tidemill.newjob import Rows
from tidemill.wire import Row

_number = re.compile("[0-9]{1,18}")
_parked = re.compile("p([0-9]{1,11})-([0-9a-f]{32})")


class Stored(NamedTuple):
    """What became of a delivery. `jobs` is how many it made, `signals` how many it was the first to give (of parked ones:
    all that were stored together); of a duplicate both are 0, `id` and `ticket` are those of the first one, and `differs`
    says that the first one's body was another."""

    id: int
    ticket: str
    duplicate: bool
    differs: bool
    jobs: int
    signals: int


class Arriving(Event):
    """An Event on its way into the store. It has no id yet: one is drawn from the database when a route first asks for it,
    and the event is then stored under it. `lost` is the error where the database did not answer."""

    def __init__(self, database: Database, delivery: Delivery) -> None:
        self.__dict__.update(delivery._asdict(), _database=database, lost=None)

    lost: psycopg.Error | None
    dedup_key: str | None
    token: str

    @cached_property
    def id(self) -> int:
        try:
            return int(self.__dict__["_database"].execute("event_number")[0][0])
        except psycopg.Error as error:
            self.__dict__["lost"] = error
            raise

    @property
    def drawn(self) -> int | None:
        """The id, if a route has asked for it."""
        return self.__dict__.get("id")

    def forget(self) -> None:
        """Let go of what the routes have read the body as: of a large one that is several times its size."""
        for name in ("text", "json", "form"):
            self.__dict__.pop(name, None)


class Routed(NamedTuple):
    """An event with what its routes yielded, or with why it has no jobs."""

    event: Arriving
    rows: Rows
    fault: str | None


class Store:
    """Writes events with their jobs. `once`: what was lost in the middle is not tried again here, since the caller has a
    quicker way."""

    def __init__(self, database: Database, once: bool = False) -> None:
        self._database = database
        self._once = once

    def put(self, routed: Routed) -> Stored:
        """Store an event with what its routes yielded, unless one with its dedup key is there; a job whose key is held is
        left out, and so is a signal whose name has come before.

        Raises psycopg.Error: then nothing was stored, or it is unknown whether it was, and the sender must come again.
        """
        number, held_token, duplicate, differs, jobs, signals = self._receive(
            {**_columns(routed), "jobs": _json(routed.rows.jobs), **routed.rows.signals}
        )
        if jobs is None:
            jobs = 0 if duplicate else self._database.execute("event_jobs", {"id": number})[0][0]
        return Stored(number, f"{number}-{held_token}", duplicate, differs, jobs, signals)

    def put_parked(self, several: Sequence[Routed]) -> list[Stored | None]:
        """Store events that were parked, by the same rules, all or none of them; None is one that had been stored before. No
        two may have the same source and dedup key, or the same token. Raises psycopg.Error; an IntegrityError may only say
        that another is storing the same at this moment."""
        events = [_columns(one) for one in several]
        parameters: dict[str, Any] = {plural: [event[name] for event in events] for plural, name in _plurals.items()}
        jobs = b",".join(b'{"token":"%b","jobs":%b}' % (one.event.token.encode(), bytes(one.rows.jobs)) for one in several)
        parameters["jobs"] = _json(b"[%b]" % jobs)
        for name in ("signal_names", "signal_payloads"):
            parameters[name] = [value for one in several for value in one.rows.signals[name]]
        parameters["signal_tokens"] = [one.event.token for one in several for _ in one.rows.signals["signal_names"]]
        rows = {row[0]: row[1:] for row in self._database.execute("absorb", parameters)}
        return [_stored(one.event, rows[one.event.token]) for one in several]

    def status(self, ticket: str) -> dict[str, Any] | None:
        """{"id", "received_at", "jobs": [{"id", "kind", "status"}]} of the event that a ticket is for."""
        number, _, token = ticket.partition("-")
        if parked := _parked.fullmatch(ticket):
            rows = self._database.execute("parked_status", {"token": parked[2]})
        else:
            rows = self._database.execute("event_status", {"id": int(number)}) if _number.fullmatch(number) else []
        if not rows or not hmac.compare_digest(token.encode("utf-8", "replace"), rows[0][0].encode()):
            return None
        return {"id": rows[0][1], "received_at": rows[0][2].astimezone(UTC).isoformat(), "jobs": rows[0][3]}

    def ping(self) -> None:
        """Ask the database for an answer. Raises psycopg.Error."""
        self._database.execute("health")

    def _receive(self, parameters: Mapping[str, Any]) -> Row:
        statement = "receive" if parameters["id"] is None and not parameters["signal_names"] else "receive_whole"
        self._database.connection()  # an error in connecting is none in which something may have been stored
        try:
            return self._database.execute(statement, parameters)[0]
        except psycopg.OperationalError as error:
            # Lost in the middle (an error that the server tells has a code): whether it was stored is unknown. With a key it
            # may run once more, and then meets what it has stored.
            if error.sqlstate is not None or parameters["dedup_key"] is None or self._once:
                raise
            return self._database.execute(statement, parameters)[0]


def parked_ticket(delivery: Delivery) -> str:
    """The ticket of a delivery that was parked and has no number yet; it tells when that was, in epoch seconds."""
    return f"p{delivery.received_at.timestamp():.0f}-{delivery.token}"


def parked_at(ticket: str) -> int | None:
    """When the delivery of a ticket was parked, in epoch seconds; None where the ticket is none of that kind."""
    found = _parked.fullmatch(ticket)
    return int(found[1]) if found else None


_plurals = {
    "ids": "id", "sources": "source", "dedup_keys": "dedup_key", "headers": "headers", "bodies": "body",
    "received_ats": "received_at", "correlation_ids": "correlation_id", "route_errors": "route_error", "tokens": "token",
}  # fmt: skip


def _columns(routed: Routed) -> dict[str, Any]:
    event = routed.event
    return {
        "id": event.drawn,
        "source": event.source,
        "dedup_key": event.dedup_key,
        "headers": jsontext.dumps(event.headers),
        "body": event.body,
        "received_at": event.received_at,
        "correlation_id": event.correlation_id,
        "route_error": routed.fault,
        "token": event.token,
    }


def _json(text: bytes | bytearray) -> Json:
    """JSON text for psycopg to send as it is."""
    return Json(text, dumps=lambda text: text)


def _stored(event: Arriving, row: Row) -> Stored | None:
    number, before, duplicate, differs, jobs, signals = row
    return None if before else Stored(number, f"{number}-{event.token}", duplicate, differs, jobs, signals)
