"""The values that travel through Tidemill: frozen, with no behaviour beyond reading themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from tidemill import bodies, jsontext


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request as it was received: `headers` are (name, value) pairs in order, `url` is the full address, `body`
    exactly the bytes that were sent, `source_ip` the address of the transport."""

    method: str
    url: str
    headers: list[tuple[str, str]]
    body: bytes
    source_ip: str = ""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The request is genuine; `dedup_key` is the sender's id of the delivery, None where it has none."""

    dedup_key: str | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The request is not genuine, or not provably so; `reason` is for the operator and never holds a secret."""

    reason: str


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that the sender wants at once (a handshake): nothing is stored. `note` is for the operator: it is logged."""

    status: int
    content_type: str
    body: str
    note: str = field(default="", compare=False)


class Delivery(NamedTuple):
    """A genuine request on its way to become an event: `headers` as they are stored, without secrets; `token` is new with
    every delivery, and the secret part of its status address."""

    token: str
    source: str
    dedup_key: str | None
    headers: Mapping[str, str]
    body: bytes
    received_at: datetime
    correlation_id: str


@dataclass(frozen=True)
class Event:
    """A stored delivery. `headers` has lower-case names and no secrets; `body` is exactly what was sent, also where it was
    compressed, while `text`, `json` and `form` are of the body that its Content-Encoding (gzip, deflate) tells of."""

    id: int
    source: str
    headers: Mapping[str, str]
    body: bytes
    received_at: datetime
    correlation_id: str = ""

    @cached_property
    def text(self) -> str:
        """The body as UTF-8, without a byte order mark. Raises ValueError, also where it cannot be expanded."""
        return self._decoded()

    @cached_property
    def json(self) -> Any:
        """The body as JSON. Raises ValueError, also on NaN, Infinity and more than 200 levels."""
        return jsontext.loads(self.__dict__.get("text") or self._decoded())  # not kept beside what is made of it

    @cached_property
    def form(self) -> dict[str, str]:
        """The body as a form; of a repeated field the last one counts."""
        return dict(parse_qsl(self.text, keep_blank_values=True))

    def _decoded(self) -> str:
        return bodies.expand(self.body, self.headers.get("content-encoding", "")).decode("utf-8-sig")


@dataclass(frozen=True)
class NewJob:
    """A job to enqueue.

    `key` makes it the only job of its kind with that key (numbers and strings are one key space); `delay` is a timedelta
    or seconds from now, `run_at` an aware datetime, one of the two at most; `max_attempts` None means the handler's; of
    two jobs of a tenant the greater `priority` goes first.
    """

    kind: str
    payload: Any = field(default_factory=dict)
    _: KW_ONLY
    key: str | int | None = None
    run_at: datetime | None = None
    delay: timedelta | float | None = None
    max_attempts: int | None = None
    tenant: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Signal:
    """What a workflow may wait for by `ctx.wait_for(name, timeout)`; a route yields it. The name is global: the first signal
    of a name counts and is kept, also when nobody waits for it yet. `payload` is any JSON; `wait_for` returns it, and None
    also where no signal came in time, so give one where the two must be told apart."""

    name: str
    payload: Any = None


Yielded = NewJob | Signal  # by a route


class Job(NamedTuple):
    """A claimed job, as its handler sees it; `attempt` counts from 1. The fields after `tenant` are the machine's."""

    id: int
    kind: str
    payload: Any
    attempt: int
    max_attempts: int | None
    key: str | None
    event_id: int | None
    correlation_id: str | None
    tenant: str
    slot_text: str | None = None
    previous_slot_text: str | None = None
    limit_name: str = ""
    expiries: int = 0
    claim_id: int = 0
    priority: int = 0
    run_at_us: int = 0  # microseconds since the epoch
    unknown_for_a_day: bool | None = None

    @property
    def slot(self) -> datetime | None:
        """The instant this job was scheduled for, aware; None unless a schedule made it."""
        return datetime.fromisoformat(self.slot_text) if self.slot_text else None

    @property
    def previous_slot(self) -> datetime | None:
        """The schedule's instant before `slot`, aware."""
        return datetime.fromisoformat(self.previous_slot_text) if self.previous_slot_text else None


class Enqueued(NamedTuple):
    """What became of a NewJob: the id of the job that holds the key, whether this call created it, and its status."""

    id: int
    created: bool
    status: str
