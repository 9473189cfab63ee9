"""The intake: a request becomes an answer, and what is genuine an event with its jobs. 202 means stored."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from urllib.parse import unquote

import psycopg

from tidemill import gateway, jsontext, telemetry
from tidemill.arrival import Arrivals, count
from tidemill.db import Database
from tidemill.errors import ConfigurationError, NotParked
from tidemill.gateway import Answer
from tidemill.model import Accepted, Delivery, Refused, Reply, Request
from tidemill.park import KEPT, Parking
from tidemill.rejections import NO_SOURCE, Rejections
from tidemill.settings import Settings
from tidemill.source import Source
from tidemill.store import parked_at, parked_ticket
from tidemill.telemetry import Log

LARGEST_BODY = 1024 * 1024  # bytes; the setting MAX_BODY_BYTES
RETRY_AFTER = {"Retry-After": "10"}  # seconds
AWAY = 5.0  # seconds in which the database is not asked again after it failed, where there is a queue

_secret_header = re.compile(r"auth|cookie|signature|token|secret|password|credential|hmac|api[-_]?key", re.IGNORECASE)
_correlation_headers = ("x-correlation-id", "x-request-id", "traceparent")
_safe = re.compile(r"[A-Za-z0-9._-]{1,128}")


class Intake:
    """Made once a container, for one request at a time.

    `limits` maps a kind to the name of its limit; `wake` asks for a drain; `now` is in epoch seconds; `on_unconfigured` is
    told once of each source that is called and whose secret is missing; `parking` takes what the database cannot. Raises
    ConfigurationError on a bad MAX_BODY_BYTES or INTAKE.
    """

    def __init__(
        self,
        database: Database,
        sources: Mapping[str, Source],
        settings: Settings,
        log: Log,
        limits: Mapping[str, str],
        wake: Callable[[], None],
        now: Callable[[], float] = time.time,
        on_unconfigured: Callable[[Source], None] = lambda source: None,
        parking: Parking | None = None,
    ) -> None:
        self._arrivals = Arrivals(database, sources, settings, log, limits, wake, once=parking is not None)
        self._store = self._arrivals.store
        self._sources = sources
        self._settings = settings
        self._log = log
        self._now = now
        self._on_unconfigured = on_unconfigured
        self._parking = parking
        self._parks_all = _parks_all(settings, parking)
        self._away_until = 0.0
        self._largest_body = settings.number("MAX_BODY_BYTES", LARGEST_BODY)
        self._known_unconfigured: set[str] = set()
        self._rejections = Rejections(database, log, settings.redact)

    def handle(self, event: object, context: object) -> Answer:
        """Answer one API Gateway event, of either payload format."""
        with telemetry.correlated(correlation_id_of(gateway.headers_of(event))):
            try:
                return self._answer(event)
            except psycopg.Error as error:
                self._log.error("the database did not take it", error=type(error).__name__, reason=self._log.short(error))
                return _error(503, "not stored: the database does not answer; send it again", RETRY_AFTER)

    def _answer(self, event: object) -> Answer:
        match [unquote(part) for part in gateway.path_of(event).strip("/").split("/")]:
            case ["hooks", name]:
                return self._hook(name, event)
            case ["events", ticket]:
                return self._only_get(event) or self._status(ticket)
            case ["health"]:
                return self._only_get(event) or self._health()
        return self._reject(event, NO_SOURCE, 404, "there is nothing here; deliveries go to POST /hooks/{source}")

    def _hook(self, name: str, event: object) -> Answer:
        if (source := self._sources.get(name)) is None:
            return self._reject(event, NO_SOURCE, 404, "there is no such source")
        if gateway.body_size(event) > self._largest_body:
            return self._reject(event, source.name, 413, f"the body is larger than {self._largest_body:.0f} bytes")
        method = gateway.method_of(event)
        if method not in ("POST", "GET"):
            return self._reject(event, source.name, 405, "use POST", headers={"Allow": "POST"})
        try:
            request = gateway.request_of(event, self._settings.get("PUBLIC_URL", ""))
        except gateway.Undecodable as error:
            return self._reject(event, source.name, 400, str(error))
        now = self._now()
        verdict = source.check(request, self._settings, now)
        if isinstance(verdict, Reply):  # some handshakes come before there is a secret
            note = {"note": verdict.note} if verdict.note else {}
            self._log.info("delivery", outcome="handshake", source=source.name, **note)
            return _reply(verdict)
        if missing := source.missing(self._settings):
            return self._unconfigured(event, source, missing)
        if method == "GET":  # only a handshake comes by GET
            return self._reject(event, source.name, 405, "use POST", headers={"Allow": "POST"})
        if isinstance(verdict, Refused):
            return self._reject(event, source.name, 401, "the request could not be verified", verdict.reason)
        taken = self._take(source, request, verdict, datetime.fromtimestamp(now, UTC))
        return _reply(source.answer, {"Location": taken["headers"]["Location"]}) if source.answer else taken

    def _take(self, source: Source, request: Request, accepted: Accepted, received_at: datetime) -> Answer:
        delivery = Delivery(
            token=os.urandom(16).hex(),
            source=source.name,
            dedup_key=accepted.dedup_key,
            headers=self._storable(request.headers, source),
            body=request.body,
            received_at=received_at,
            correlation_id=telemetry.correlation_id(),
        )
        parks = self._parks_all or self._now() < self._away_until
        if parks and (parked := self._park(delivery)):
            return parked
        try:
            stored = self._arrivals.take(delivery)
        except psycopg.Error as error:
            self._away_until = self._now() + AWAY
            if not parks and (parked := self._park(delivery, error)):
                return parked
            raise
        body = {"id": stored.id, "duplicate": True} if stored.duplicate else {"id": stored.id, "jobs": stored.jobs}
        return gateway.answer(202, body, {"Location": f"/events/{stored.ticket}"})

    def _park(self, delivery: Delivery, why: psycopg.Error | None = None) -> Answer | None:
        """Put a delivery into the queue, where there is one and it takes it; `why` is the database's error."""
        if self._parking is None:
            return None
        try:
            self._parking.park(delivery)
        except NotParked as error:
            self._log.error("not parked", source=delivery.source, reason=str(error))
            return None
        say = self._log.warning if why else self._log.info
        reason = self._log.short(f"{type(why).__name__}: {why}") if why else None
        say("delivery", outcome="parked", source=delivery.source, reason=reason)
        count(delivery.source, "EventsParked")
        return gateway.answer(202, {"parked": True}, {"Location": f"/events/{parked_ticket(delivery)}"})

    def _reject(
        self,
        event: object,
        source: str,
        status: int,
        answered: str,
        reason: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Refuse, and make it visible. `reason` is for the operator, where it is another than what is answered."""
        self._rejections.note(event, source, status, reason or answered)
        return _error(status, answered, headers)

    def _unconfigured(self, event: object, source: Source, missing: list[str]) -> Answer:
        if source.name not in self._known_unconfigured:
            self._known_unconfigured.add(source.name)
            self._log.error("a source without its secret refuses everything", source=source.name, missing=missing)
            self._on_unconfigured(source)
        reason = f"missing settings: {', '.join(missing)}"
        return self._reject(event, source.name, 503, "this source is not set up yet; send it again", reason, RETRY_AFTER)

    def _status(self, ticket: str) -> Answer:
        if status := self._store.status(ticket):
            return gateway.answer(200, status)
        at = parked_at(ticket)
        if at is not None and self._now() < at + KEPT:  # a queue may still have it
            return gateway.answer(202, {"parked": True}, RETRY_AFTER)
        return _error(404, "there is no such event, or not under this address")

    def _health(self) -> Answer:
        try:
            self._store.ping()
        except psycopg.Error as error:
            self._log.error("not healthy", error=type(error).__name__, reason=self._log.short(error))
            return gateway.answer(503, {"ok": False, "error": "the database does not answer"}, RETRY_AFTER)
        return gateway.answer(200, {"ok": True})

    def _only_get(self, event: object) -> Answer | None:
        return None if gateway.method_of(event) == "GET" else _not_allowed("GET")

    def _storable(self, headers: Iterable[tuple[str, str]], source: Source) -> dict[str, str]:
        """Lower-case names, repeated ones joined by a comma, and no secret."""
        found: dict[str, str] = {}
        for name, value in headers:
            name = jsontext.clean(name.lower(), 200)
            shown = f"{found[name]}, {value}" if name in found else value
            secret = name in source.secret_headers or _secret_header.search(name)
            found[name] = "***" if secret else jsontext.clean(self._settings.redact(shown))
        return found


def correlation_id_of(headers: Iterable[tuple[str, str]]) -> str:
    """The sender's correlation id, where it is a safe value, else a new one; of a traceparent the whole value, so that it is
    found as it was sent."""
    given = {name.lower(): value for name, value in headers}
    safe = (value for name in _correlation_headers if _safe.fullmatch(value := given.get(name, "")))
    return next(safe, None) or os.urandom(16).hex()


def _parks_all(settings: Settings, parking: Parking | None) -> bool:
    chosen = settings.get("INTAKE") or "direct"
    if chosen not in ("direct", "park"):
        raise ConfigurationError(f"INTAKE must be direct or park, not {chosen[:40]!r}")
    if chosen == "park" and parking is None:
        raise ConfigurationError("INTAKE=park needs PARKING_QUEUE_URL")
    return chosen == "park"


def _reply(reply: Reply, headers: Mapping[str, str] | None = None) -> Answer:
    return gateway.text_answer(reply.status, reply.content_type, reply.body, headers)


def _error(status: int, text: str, headers: Mapping[str, str] | None = None) -> Answer:
    return gateway.answer(status, {"error": text}, headers)


def _not_allowed(method: str) -> Answer:
    return _error(405, f"use {method}", {"Allow": method})
