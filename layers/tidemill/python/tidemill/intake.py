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
from tidemill.db import Database
from tidemill.gateway import Answer
from tidemill.model import Accepted, Refused, Reply, Request
from tidemill.rejections import Rejections
from tidemill.settings import Settings
from tidemill.source import Source, route
from tidemill.store import Arriving, Store, Stored
from tidemill.telemetry import Log

LARGEST_BODY = 1024 * 1024  # bytes; the setting MAX_BODY_BYTES
RETRY_AFTER = {"Retry-After": "10"}  # seconds

_secret_header = re.compile(r"auth|cookie|signature|token|secret|password|credential|hmac|api[-_]?key", re.IGNORECASE)
_correlation_headers = ("x-correlation-id", "x-request-id", "traceparent")
_safe = re.compile(r"[A-Za-z0-9._-]{1,128}")


class Intake:
    """Made once a container, for one request at a time.

    `limits` maps a kind to the name of its limit; `wake` asks for a drain; `now` is in epoch seconds; `on_unconfigured` is
    told once of each source that is called and whose secret is missing. Raises ConfigurationError on a bad MAX_BODY_BYTES.
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
    ) -> None:
        self._database = database
        self._store = Store(database, limits)
        self._sources = sources
        self._settings = settings
        self._log = log
        self._limits = limits
        self._wake = wake
        self._now = now
        self._on_unconfigured = on_unconfigured
        self._largest_body = settings.number("MAX_BODY_BYTES", LARGEST_BODY)
        self._known_unconfigured: set[str] = set()
        self._rejections = Rejections(database, log)

    def handle(self, event: object, context: object) -> Answer:
        """Answer one API Gateway event, of either payload format."""
        with telemetry.correlated(correlation_id_of(gateway.headers_of(event))):
            try:
                return self._answer(event)
            except psycopg.Error as error:
                self._log.error("the database did not take it", error=type(error).__name__, reason=str(error)[:1000])
                return _error(503, "not stored: the database does not answer; send it again", RETRY_AFTER)

    def _answer(self, event: object) -> Answer:
        match [unquote(part) for part in gateway.path_of(event).strip("/").split("/")]:
            case ["hooks", name]:
                return self._hook(name, event)
            case ["events", ticket]:
                return self._only_get(event) or self._status(ticket)
            case ["health"]:
                return self._only_get(event) or self._health()
        return _error(404, "there is nothing here; deliveries go to POST /hooks/{source}")

    def _hook(self, name: str, event: object) -> Answer:
        if (source := self._sources.get(name)) is None:
            self._log.warning("delivery", outcome="unknown source", source=jsontext.clean(name, 100))
            return _error(404, "there is no such source")
        if gateway.body_size(event) > self._largest_body:
            return self._reject(source, 413, f"the body is larger than {self._largest_body:.0f} bytes")
        method = gateway.method_of(event)
        if method not in ("POST", "GET"):
            return _not_allowed("POST")
        try:
            request = gateway.request_of(event, self._settings.get("PUBLIC_URL", ""))
        except gateway.Undecodable as error:
            return self._reject(source, 400, str(error))
        if missing := source.missing(self._settings):
            return self._unconfigured(source, missing)
        now = self._now()
        verdict = source.check(request, self._settings, now)
        if isinstance(verdict, Reply):
            self._log.info("delivery", outcome="handshake", source=source.name)
            return gateway.text_answer(verdict.status, verdict.content_type, verdict.body)
        if method == "GET":  # only a handshake comes by GET
            return _not_allowed("POST")
        if isinstance(verdict, Refused):
            return self._reject(source, 401, "the request could not be verified", verdict.reason)
        return self._take(source, request, verdict, datetime.fromtimestamp(now, UTC))

    def _take(self, source: Source, request: Request, accepted: Accepted, received_at: datetime) -> Answer:
        """Route a genuine request and store it with its jobs; whatever its route does, it is stored."""
        event = Arriving(
            self._database,
            source=source.name,
            headers=self._storable(request.headers, source),
            body=request.body,
            received_at=received_at,
            correlation_id=telemetry.correlation_id(),
        )
        yielded, fault = route(source, event, self._limits, self._settings.redact)
        if event.lost is not None:  # no fault of the route, though it may have been raised through it
            raise event.lost
        try:
            stored = self._store.put(event, accepted.dedup_key, yielded, fault)
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            # The database has a rule that its jobs break; the same delivery would meet it again.
            fault = jsontext.clean(self._settings.redact(f"{type(error).__name__}: {error}"))
            stored = self._store.put(event, accepted.dedup_key, [], fault)
        self._tell(source, stored, fault)
        if stored.signals or (stored.jobs and not stored.duplicate):
            self._ask_for_drain()
        body = {"id": stored.id, "duplicate": True} if stored.duplicate else {"id": stored.id, "jobs": stored.jobs}
        return gateway.answer(202, body, {"Location": f"/events/{stored.ticket}"})

    def _tell(self, source: Source, stored: Stored, fault: str | None) -> None:
        facts = {"source": source.name, "id": stored.id}
        if stored.duplicate:
            say = self._log.warning if stored.differs else self._log.info
            say("delivery", outcome="duplicate", mismatch=stored.differs, **facts)
            _count(source, "EventsDuplicate")
        elif fault is not None:
            self._log.error("delivery", outcome="unrouted", reason=fault, **facts)
            _count(source, "EventsAccepted", "EventsUnrouted")
        else:
            self._log.info("delivery", outcome="accepted", jobs=stored.jobs, **facts)
            _count(source, "EventsAccepted")

    def _ask_for_drain(self) -> None:
        try:
            self._wake()
        except Exception as error:  # it is stored, and the schedule wakes a drain within a minute
            self._log.warning("no drain was woken", error=type(error).__name__)

    def _reject(self, source: Source, status: int, answered: str, reason: str | None = None) -> Answer:
        self._log.warning("delivery", outcome="refused", source=source.name, status=status, reason=reason or answered)
        self._rejections.note(source.name, reason or answered)
        _count(source, "EventsRejected")
        return _error(status, answered)

    def _unconfigured(self, source: Source, missing: list[str]) -> Answer:
        if source.name not in self._known_unconfigured:
            self._known_unconfigured.add(source.name)
            self._log.error("a source without its secret refuses everything", source=source.name, missing=missing)
            self._on_unconfigured(source)
        self._rejections.note(source.name, f"missing settings: {', '.join(missing)}")
        _count(source, "EventsRejected")
        return _error(503, "this source is not set up yet; send it again", RETRY_AFTER)

    def _status(self, ticket: str) -> Answer:
        status = self._store.status(ticket)
        return gateway.answer(200, status) if status else _error(404, "there is no such event, or not under this address")

    def _health(self) -> Answer:
        try:
            self._store.ping()
        except psycopg.Error as error:
            self._log.error("not healthy", error=type(error).__name__, reason=str(error)[:1000])
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


def _count(source: Source, *names: str) -> None:
    telemetry.write_lines([telemetry.metrics(dict.fromkeys(names, (1, "Count")), source=source.name)])


def _error(status: int, text: str, headers: Mapping[str, str] | None = None) -> Answer:
    return gateway.answer(status, {"error": text}, headers)


def _not_allowed(method: str) -> Answer:
    return _error(405, f"use {method}", {"Allow": method})
