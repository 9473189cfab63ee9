"""The other side of HTTP in tests: answers by plan, and remembers what was asked and with which timeout."""

from __future__ import annotations

import json
from typing import Any

import requests
from requests.adapters import BaseAdapter


class Answers(BaseAdapter):
    """Answers each request with the next of `plan`: a status, (status, body), (status, body, headers), or an error that is
    raised; after the last with 200 and Telegram's ok."""

    def __init__(self, *plan: Any) -> None:
        super().__init__()
        self.plan = list(plan)
        self.requests: list[requests.PreparedRequest] = []
        self.timeouts: list[Any] = []

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # type: ignore[override]
        self.requests.append(request)
        self.timeouts.append(options["timeout"])
        one = self.plan.pop(0) if self.plan else (200, {"ok": True, "result": {"message_id": 1}})
        if isinstance(one, BaseException):
            raise one
        return response(*(one if isinstance(one, tuple) else (one,)), request=request)

    def close(self) -> None:
        pass

    @property
    def sent(self) -> list[Any]:
        """The JSON bodies of the requests."""
        return [json.loads(request.body or b"null") for request in self.requests]

    def on(self, session: requests.Session) -> requests.Session:
        session.mount("http://", self)
        session.mount("https://", self)
        return session


def response(
    status: int,
    body: object = b"",
    headers: dict[str, str] | None = None,
    request: requests.PreparedRequest | None = None,
) -> requests.Response:
    made = requests.Response()
    made.status_code = status
    made._content = (
        body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    )
    made._content_consumed = True
    made.headers.update(headers or {})
    if request is not None:
        made.request, made.url = request, str(request.url)
    return made
