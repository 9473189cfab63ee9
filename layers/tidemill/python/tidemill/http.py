"""The way out over HTTP: a session that never waits for ever, and what an answer's status means."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from tidemill import jsontext, retry, telemetry
from tidemill.errors import PermanentError, RateLimited, RequestFailed

if TYPE_CHECKING:  # imported when first used: it costs a function's start more than psycopg does
    import requests

Timeout = float | tuple[float | None, float | None] | None

TIMEOUT = (5.0, 20.0)  # seconds to connect, and between two pieces of the answer
LONGEST_PIECE = 300  # bytes of an answer's body that stand in an error

# What goes along when another host is named by a redirect; any other header may be a key.
_harmless = {
    "accept", "accept-encoding", "accept-language", "connection", "content-length", "content-type", "cookie", "user-agent",
    "x-correlation-id",
}  # fmt: skip


def session(timeout: Timeout = TIMEOUT, correlation_id: str | None = None) -> requests.Session:
    """A requests session whose requests all have a timeout and send X-Correlation-Id.

    `timeout` is in seconds, one number or (connect, read); a request may give its own, and None means the session's.
    `correlation_id` None means that of what is running at the time. A redirect to another host takes no header along that
    may be a key.
    """
    return _session_class()(_bounded(timeout, TIMEOUT), correlation_id)


def check(response: requests.Response, what: str, clock: Callable[[], float] = time.time) -> requests.Response:
    """The response, if it is a success; `what` names the request in the error that is raised otherwise:

    | status | raised | what becomes of the job |
    |---|---|---|
    | 2xx | nothing | |
    | 429, and 503 with a Retry-After that says a time | RateLimited | waits so long, no attempt used |
    | 408, 425 | RequestFailed | another attempt |
    | any other 4xx (400, 401, 403, 404, 409, 410, 413, 422 ...) | PermanentError | failed for good |
    | anything else (3xx that was not followed, 500, 501, 502, 503, 504 ...) | RequestFailed | another attempt |

    The status alone decides, never the text. The error holds the status and the start of the body, and not the address,
    which may hold a secret. `clock` tells epoch seconds, for a Retry-After that is a date.
    """
    wait = retry.parse_retry_after(response.headers.get("Retry-After"), clock())
    if (error := fault(response.status_code, wait, what, _start_of(response))) is not None:
        raise error
    return response


def fault(status: int, retry_after: float | None, what: str, piece: str) -> Exception | None:
    """The error that an answer with this status means (see `check`), None for a success. `retry_after` is in seconds, None
    where the other side named no time; `piece` is what it said."""
    if 200 <= status < 300:
        return None
    text = f"{what}: status {status}" + (f": {piece}" if piece else "")
    if status == 429 or (status == 503 and retry_after is not None):
        return RateLimited(retry_after, text)
    if 400 <= status < 500 and status not in (408, 425):
        return PermanentError(text)
    return RequestFailed(text)


def _start_of(response: requests.Response) -> str:
    try:
        start: bytes = next(response.iter_content(4 * LONGEST_PIECE), b"")
    except Exception:  # the body was consumed already, or breaks off: the status says enough
        return ""
    return jsontext.clean(" ".join(start.decode("utf-8", "replace").split()), LONGEST_PIECE)


def _bounded(timeout: Timeout, otherwise: tuple[float, float]) -> tuple[float, float]:
    connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
    return connect or otherwise[0], read or otherwise[1]


@cache
def _session_class() -> Callable[[tuple[float, float], str | None], requests.Session]:
    import requests

    class Session(requests.Session):
        def __init__(self, timeout: tuple[float, float], correlation_id: str | None) -> None:
            super().__init__()
            self._timeout = timeout
            self._correlation_id = correlation_id

        def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
            options["timeout"] = _bounded(options.get("timeout"), self._timeout)
            current = telemetry.correlation_id() if self._correlation_id is None else self._correlation_id
            if telemetry.SAFE_ID.fullmatch(current):  # one from a plain insert may hold what no header can
                request.headers.setdefault("X-Correlation-Id", current)
            return super().send(request, **options)

        def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
            if self.should_strip_auth(response.request.url, prepared_request.url):  # type: ignore[no-untyped-call]
                for name in [name for name in prepared_request.headers if name.lower() not in _harmless]:
                    del prepared_request.headers[name]
            super().rebuild_auth(prepared_request, response)  # type: ignore[no-untyped-call]

    return Session
