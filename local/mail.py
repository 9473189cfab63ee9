"""A stand-in for a mail provider: takes mails under an idempotency key, lists them, and can be told to fail.

`POST /messages` {"to", "subject", "text"} with `Authorization` and `Idempotency-Key` (a header of
https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/); `GET /messages` lists what was delivered.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from local.server import Handler, Server

PLACES = 5  # requests at a time; one more is answered 429
LOST = 0  # stands for the status where the mail is taken, and the connection ends without an answer

_LARGEST = 1024 * 1024
_address = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


class Mail(NamedTuple):
    """A mail that was delivered: to whom, what, the idempotency key and the correlation id it came with, and when (epoch
    seconds)."""

    to: str
    subject: str
    text: str
    key: str
    correlation_id: str
    at: float


class Answer(NamedTuple):
    """A status (LOST: none), and what is said with it."""

    status: int
    body: dict[str, Any] | list[Any]
    retry_after: int | None = None


class _Fault(NamedTuple):
    status: int
    to: str
    meanwhile: Callable[[], None]


class MailProvider:
    """Listens from the moment it is made until `close`. `say(text)` is called with each mail that is delivered; a request
    takes `seconds`."""

    def __init__(self, say: Callable[[str], None] = lambda text: None, seconds: float = 0) -> None:
        self.say = say
        self.seconds = seconds
        self._lock = threading.Lock()
        self._faults: list[_Fault] = []
        self._mails: list[Mail] = []
        self._answers: dict[str, Answer] = {}
        self._statuses: list[int] = []
        self._at_once = 0
        self._most_at_once = 0
        self._server = Server(_api(self))

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def mails(self) -> list[Mail]:
        """What was delivered, in order."""
        with self._lock:
            return list(self._mails)

    @property
    def statuses(self) -> list[int]:
        """What each POST was answered, in order."""
        with self._lock:
            return list(self._statuses)

    @property
    def most_at_once(self) -> int:
        """The most requests that were here at the same time, refused ones included."""
        with self._lock:
            return self._most_at_once

    def fail(self, times: int, status: int = 503, *, to: str = "", meanwhile: Callable[[], None] = lambda: None) -> None:
        """Answer the next `times` requests (if `to` is given, those with a mail to it) with this status, and deliver
        nothing. `meanwhile` is called before each of these answers."""
        with self._lock:
            self._faults += [_Fault(status, to, meanwhile)] * times

    def lose(self, times: int, *, to: str = "", meanwhile: Callable[[], None] = lambda: None) -> None:
        """Deliver the mails of the next `times` requests, and end their connections without an answer. `meanwhile` is called
        between the two."""
        self.fail(times, LOST, to=to, meanwhile=meanwhile)

    def recover(self) -> None:
        """Answer all requests from now on."""
        with self._lock:
            self._faults.clear()

    def close(self) -> None:
        self._server.close()

    def receive(self, key: str, correlation_id: str, mail: Any) -> Answer:
        """One POST of a mail."""
        with self._lock:
            self._at_once += 1
            self._most_at_once = max(self._most_at_once, self._at_once)
            full = self._at_once > PLACES
        try:
            if full:
                answer = _error(429, f"more than {PLACES} requests at a time", retry_after=1)
            else:
                answer = self._take(key, correlation_id, mail)
        finally:
            with self._lock:
                self._at_once -= 1
        with self._lock:
            self._statuses.append(answer.status)
        return answer

    def _take(self, key: str, correlation_id: str, mail: Any) -> Answer:
        time.sleep(self.seconds)
        if not key:
            return _error(400, "Idempotency-Key is missing")
        fault = self._next_fault(mail)
        if fault is not None and fault.status != LOST:
            fault.meanwhile()
            return _error(fault.status, "told to fail")
        answer = self._deliver(key, correlation_id, mail)
        if fault is not None:
            fault.meanwhile()
            return Answer(LOST, {})
        return answer

    def _next_fault(self, mail: Any) -> _Fault | None:
        with self._lock:
            to = mail.get("to") if isinstance(mail, dict) else None
            fault = next((one for one in self._faults if one.to in ("", to)), None)
            if fault is not None:
                self._faults.remove(fault)
            return fault

    def _deliver(self, key: str, correlation_id: str, mail: Any) -> Answer:
        with self._lock:
            if key in self._answers:
                return self._answers[key]
            match mail:
                case {"to": str(to), "subject": str(subject), "text": str(text)}:
                    pass
                case _:
                    return _error(422, "to, subject and text must be texts")
            if not _address.fullmatch(to):
                return _error(422, f"to: {to!r} is no mail address")
            self._mails.append(Mail(to, subject, text, key, correlation_id, time.time()))
            answer = self._answers[key] = Answer(202, {"id": len(self._mails)})
        self.say(f"to {to}: {subject}")
        return answer


def _error(status: int, text: str, retry_after: int | None = None) -> Answer:
    return Answer(status, {"error": text}, retry_after)


def _api(provider: MailProvider) -> type[Handler]:
    class Api(Handler):
        def respond(self) -> None:
            body = self.read_body(_LARGEST) or b""
            answer = self._answer(body)
            if answer.status == LOST:
                self.close_connection = True
                return
            extra = [] if answer.retry_after is None else [("Retry-After", str(answer.retry_after))]
            self.answer_json(answer.status, json.dumps(answer.body), *extra)

        def _answer(self, body: bytes) -> Answer:
            if self.path != "/messages" or self.command not in ("GET", "POST"):
                return _error(404, "there are GET and POST /messages")
            if self.command == "GET":
                return Answer(200, [mail._asdict() for mail in provider.mails])
            if not self.headers.get("Authorization", "").startswith("Bearer "):
                return _error(401, "Authorization is missing")
            try:
                mail = json.loads(body)
            except ValueError:
                return _error(400, "the body is not JSON")
            headers = self.headers
            return provider.receive(headers.get("Idempotency-Key", ""), headers.get("X-Correlation-Id", ""), mail)

    return Api
