"""A sender: posts its deliveries through API Gateway's events into the intake, and sends again until it has its 202."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from typing import Any, NamedTuple

from tests.chaos.plan import Delivery, Send
from tests.chaos.slots import Slot

AGAIN = 0.2  # seconds until it sends again what was not taken


class Taken(NamedTuple):
    """A 202: which delivery was taken, and what the answer said."""

    delivery: Delivery
    event_id: int
    duplicate: bool


class Sender:
    """`sends` in order of time. `taken`, `tries` and `refused` (statuses of forged ones) are what came of them."""

    def __init__(self, slot: Slot, sends: tuple[Send, ...], secret: str) -> None:
        self._slot = slot
        self._sends = sends
        self._secret = secret
        self.taken: list[Taken] = []
        self.refused: list[int] = []
        self.tries = 0
        self.left = len(sends)

    def run(self, until: threading.Event, since_start: Any, ended: threading.Event) -> None:
        """Send everything, each at its time, until all is answered or the run has `ended`; once it is `until`, at once."""
        for send in self._sends:
            until.wait(max(send.at - since_start(), 0.0))
            while not ended.is_set() and not self._send(send):
                ended.wait(AGAIN)
            self.left -= 1

    def _send(self, send: Send) -> bool:
        """Whether it was answered in a way that is the end of it."""
        self.tries += 1
        answer = self._slot.invoke(event_of(send, self._secret))
        if answer is None or answer["statusCode"] >= 500:
            return False
        if send.forged:
            self.refused.append(answer["statusCode"])
            return True
        if answer["statusCode"] != 202:
            raise AssertionError(f"{send.delivery.key} was answered with {answer['statusCode']}: {answer['body']}")
        body = json.loads(answer["body"])
        self.taken.append(Taken(send.delivery, body["id"], body.get("duplicate", False)))
        return True


def event_of(send: Send, secret: str) -> dict[str, Any]:
    """The event of API Gateway, in payload format 1.0 or 2.0; every third body goes as base64."""
    body = json.dumps({"delivery": send.delivery.key, "kinds": send.delivery.kinds}).encode()
    key = b"forged" if send.forged else secret.encode()
    headers = {
        "X-Chaos-Signature": hmac.new(key, body, hashlib.sha256).hexdigest(),
        "X-Chaos-Delivery": send.delivery.key,
        "X-Correlation-Id": send.delivery.correlation_id,
        "Content-Type": "application/json",
    }
    encoded = send.delivery.number % 3 == 0
    shared = {
        "body": base64.b64encode(body).decode() if encoded else body.decode(),
        "isBase64Encoded": encoded,
    }
    if send.version == 1:
        values = {name: [value] for name, value in headers.items()}
        return {**shared, "httpMethod": "POST", "path": "/hooks/chaos", "multiValueHeaders": values, "requestContext": {}}
    lower = {name.lower(): value for name, value in headers.items()}
    context = {"http": {"method": "POST"}, "stage": "$default"}
    return {**shared, "version": "2.0", "rawPath": "/hooks/chaos", "headers": lower, "requestContext": context}
