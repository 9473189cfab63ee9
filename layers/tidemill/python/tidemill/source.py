"""A source: one sender, with how its requests are verified, the key that names a delivery, and the routes to jobs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TypeVar

from tidemill import jsontext
from tidemill.errors import ConfigurationError
from tidemill.model import Accepted, Event, Refused, Reply, Request, Yielded
from tidemill.newjob import Rows, key_text, rows
from tidemill.registry import Registry
from tidemill.settings import secrets_in
from tidemill.verify import Key, Verify

Route = Callable[[Event], Iterable[Yielded] | None]
F = TypeVar("F", bound=Route)

MOST_JOBS = 10_000  # of one event; a route without an end must not fill the memory

_name = re.compile("[a-z0-9][a-z0-9_.-]{0,99}")


class Source:
    """One sender, called at /hooks/{name}. Raises ConfigurationError that names the parameter.

    `verify` checks a request, `dedup_key` finds the sender's id of a delivery (see tidemill.verify for both). Without a key,
    deliveries of this source are never taken for duplicates. `answer` is for a sender who takes nothing but that for an
    acknowledgement of what is stored; `register` says where the sender is told the address.
    """

    def __init__(
        self,
        name: str,
        verify: Verify,
        dedup_key: Key | None = None,
        *,
        answer: Reply | None = None,
        register: str = "",
    ) -> None:
        if not isinstance(name, str) or not _name.fullmatch(name):
            raise ConfigurationError(f"source {name!r}: name must be 1 to 100 of a-z 0-9 . _ -, not first one of . _ -")
        if not callable(verify):
            raise ConfigurationError(f"source {name!r}: verify must be a verification, such as hmac_sha256(...)")
        if dedup_key is not None and not callable(dedup_key):
            raise ConfigurationError(f"source {name!r}: dedup_key must be a key, such as header(...) or json_path(...)")
        self.name = name
        self.module, line = _declared_at()
        self.routes: list[Route] = []
        self.verify = verify
        self.answer = answer
        self.register = register
        self.secrets: tuple[str, ...] = tuple(getattr(verify, "secrets", ()))
        self.secret_headers = frozenset(header.lower() for header in getattr(verify, "headers", ()))
        self._dedup_key = dedup_key
        # By its line, so that a reloaded module replaces its source, and a second one of the name does not do so in silence.
        declared.add((self.module, name, line), self.module, self)

    def route(self, function: F) -> F:
        """Declare a function that takes an Event and yields its NewJobs and Signals. With several, each gets every event."""
        self.routes.append(function)
        return function

    def missing(self, settings: Mapping[str, str]) -> list[str]:
        """The names of the settings without which every request is refused and which are missing or blank."""
        return [name for name in self.secrets if not secrets_in(settings.get(name, ""))]

    def check(self, request: Request, settings: Mapping[str, str], now: float) -> Accepted | Refused | Reply:
        """Whether the request is genuine, at `now` (epoch seconds). Pure, and never raises: a verification that raises, or
        answers anything else, refuses."""
        try:
            verdict = self.verify(request, settings, now)
        except Exception as error:
            return Refused(f"the verification raised {type(error).__name__}")
        if isinstance(verdict, Accepted):
            return self._keyed(verdict, request)
        if isinstance(verdict, (Refused, Reply)):
            return verdict
        return Refused(f"the verification answered {type(verdict).__name__}")

    def _keyed(self, verdict: Accepted, request: Request) -> Accepted | Refused:
        try:
            key = verdict.dedup_key if self._dedup_key is None else self._dedup_key(request)
            return key if isinstance(key, Refused) else Accepted(key_text(key))
        except Exception:  # it is genuine; what its key cannot be read from is no reason to lose it
            return Accepted()


declared: Registry[Source] = Registry()


def by_name(sources: Iterable[Source]) -> dict[str, Source]:
    """The sources by name. Raises ConfigurationError that names every one that two modules declare."""
    found: dict[str, Source] = {}
    faults: list[str] = []
    for source in sources:
        if (other := found.setdefault(source.name, source)) is not source:
            faults.append(f"the source {source.name!r} is declared twice: in {other.module} and in {source.module}")
    if faults:
        raise ConfigurationError("; ".join(faults))
    return found


def route(
    source: Source, event: Event, limits: Mapping[str, str], redact: Callable[[str], str] = str
) -> tuple[list[Yielded], str | None]:
    """The jobs and signals of an event, and None; or none, and why: whatever a route raises, or what cannot be stored.

    `limits` maps a kind to the name of its limit; `redact` takes secrets out of the reason, which can be stored.
    """
    yielded, _, fault = routed(source, event, limits, redact)
    return yielded, fault


def routed(
    source: Source, event: Event, limits: Mapping[str, str], redact: Callable[[str], str]
) -> tuple[list[Yielded], Rows, str | None]:
    """As `route`, and the rows that they become."""
    try:
        yielded = [one for function in source.routes for one in islice(function(event) or (), MOST_JOBS + 1)]
        if len(yielded) > MOST_JOBS:
            raise ValueError(f"an event makes at most {MOST_JOBS} jobs")
        return yielded, rows(yielded, limits), None
    except (Exception, SystemExit) as error:
        return [], rows([], limits), jsontext.clean(redact(_text(error)))


def _text(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception as fault:
        text = f"<its text raises {type(fault).__name__}>"
    # Cut before the search for secrets, which would take long in 20 MB; the last cut, after it, leaves no half of one.
    return f"{type(error).__name__}: {text[: 4 * jsontext.MAX_ERROR_BYTES]}"


def _declared_at() -> tuple[str, int]:
    """The module outside this library that is making a source, also by way of a preset, and the line in it."""
    frame = sys._getframe(2)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "tidemill":
        frame = frame.f_back
    return str(frame.f_globals.get("__name__")), frame.f_lineno
