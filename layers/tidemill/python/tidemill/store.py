"""The store behind the intake: an event, its jobs and its signals in one statement, and what its status address tells."""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC
from functools import cached_property
from typing import Any, NamedTuple

import psycopg

from tidemill import jsontext
from tidemill.db import Database, Row
from tidemill.model import Event, Yielded
from tidemill.newjob import columns

_number = re.compile("[0-9]{1,18}")


class Stored(NamedTuple):
    """What became of a delivery. `jobs` is how many it made, `signals` how many it was the first to give; of a duplicate,
    `id` and `ticket` are those of the first one, and `differs` says that the first one's body was another."""

    id: int
    ticket: str
    duplicate: bool
    differs: bool
    jobs: int
    signals: int


class Arriving(Event):
    """An Event on its way into the store. It has no id yet: one is drawn from the database when a route first asks for it,
    and the event is then stored under it. `lost` is the error where the database did not answer."""

    def __init__(self, database: Database, **fields: Any) -> None:
        self.__dict__.update(fields, _database=database, lost=None)

    lost: psycopg.Error | None

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


class Store:
    """Writes events with their jobs; `limits` maps a kind to the name of its limit."""

    def __init__(self, database: Database, limits: Mapping[str, str]) -> None:
        self._database = database
        self._limits = limits

    def put(self, event: Arriving, dedup_key: str | None, yielded: Sequence[Yielded], route_error: str | None) -> Stored:
        """Store an event with what its routes yielded, unless one with its dedup key is there; a job whose key is held is
        left out, and so is a signal whose name has come before.

        Raises psycopg.Error: then nothing was stored, or it is unknown whether it was, and the sender must come again.
        """
        token = os.urandom(16).hex()
        parameters = {
            "id": event.drawn,
            "source": event.source,
            "dedup_key": dedup_key,
            "headers": jsontext.dumps(event.headers),
            "body": event.body,
            "received_at": event.received_at,
            "correlation_id": event.correlation_id,
            "route_error": route_error,
            "token": token,
            **columns(yielded, self._limits),
        }
        number, held_token, duplicate, differs, jobs, signals = self._receive(parameters)
        return Stored(number, f"{number}-{held_token}", duplicate, differs, jobs, signals)

    def status(self, ticket: str) -> dict[str, Any] | None:
        """{"id", "received_at", "jobs": [{"id", "kind", "status"}]} of the event that a ticket is for."""
        number, _, token = ticket.partition("-")
        rows = self._database.execute("event_status", {"id": int(number)}) if _number.fullmatch(number) else []
        if not rows or not hmac.compare_digest(token.encode("utf-8", "replace"), rows[0][0].encode()):
            return None
        return {"id": int(number), "received_at": rows[0][1].astimezone(UTC).isoformat(), "jobs": rows[0][2]}

    def ping(self) -> None:
        """Ask the database for an answer. Raises psycopg.Error."""
        self._database.execute("health")

    def _receive(self, parameters: Mapping[str, Any]) -> Row:
        self._database.connection()  # an error in connecting is none in which something may have been stored
        try:
            return self._database.execute("receive", parameters)[0]
        except psycopg.OperationalError as error:
            # Lost in the middle (an error that the server tells has a code): whether it was stored is unknown. With a key it
            # may run once more, and then meets what it has stored.
            if error.sqlstate is not None or parameters["dedup_key"] is None:
                raise
            return self._database.execute("receive", parameters)[0]
