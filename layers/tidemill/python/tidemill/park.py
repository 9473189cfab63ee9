"""Parking: what is genuine goes into a queue where the database cannot take it, and is stored from there when it can.

An entry is a delivery as JSON, its body in base64. One that is larger than SQS takes goes in parts, which absorb puts
together again. There is no secret in it that would not also stand in the row.
"""

from __future__ import annotations

import base64
import http.client
import json
import re
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tidemill import jsontext
from tidemill.aws import Client
from tidemill.errors import ConfigurationError, NotParked
from tidemill.model import Delivery

# Bytes of one message. https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
LARGEST = 1024 * 1024
PART = 500_000  # characters of an entry in one part; as JSON in JSON they may be twice as many
BATCH = 10  # messages that one call hides
KEPT = 14 * 86400  # seconds that a queue keeps a message, at most

_token = re.compile("[0-9a-f]{32}")
_region = re.compile(r"https://sqs\.([\w-]+)\.")


class Part(NamedTuple):
    """A piece of an entry that was too large: the number `part` (from 0) of `of`."""

    token: str
    part: int
    of: int
    data: str


class Parking:
    """The queue at `url`, reached at its host, or where AWS_ENDPOINT_URL_SQS or AWS_ENDPOINT_URL say. `environ` is the
    function's, `now` tells epoch seconds. Raises ConfigurationError for what is no address of a queue."""

    def __init__(self, url: str, environ: Mapping[str, str], now: Callable[[], float] = time.time) -> None:
        address = urlsplit(url)
        if address.scheme not in ("http", "https") or not address.netloc or len(address.path) < 2:
            raise ConfigurationError(f"PARKING_QUEUE_URL must be the URL of an SQS queue, not {url[:200]!r}")
        found = _region.match(url)
        region = found[1] if found else environ.get("AWS_REGION", "us-east-1")
        own = environ.get("AWS_ENDPOINT_URL_SQS") or environ.get("AWS_ENDPOINT_URL")
        self._url = url
        self._client = Client("sqs", own or f"{address.scheme}://{address.netloc}", region, environ, now)

    def park(self, delivery: Delivery) -> None:
        """Put a delivery into the queue. Raises NotParked: then the sender must come again; a part that got there does no
        harm."""
        for text in texts(delivery):
            try:
                answer = self._call("SendMessage", {"QueueUrl": self._url, "MessageBody": text})
            except NotParked as error:
                if error.slow:
                    raise
                answer = self._call("SendMessage", {"QueueUrl": self._url, "MessageBody": text})
            if not answer.get("MessageId"):
                raise NotParked("the answer of SQS names no message")

    def hide(self, waits: Mapping[str, float]) -> None:
        """Let messages, by their receipts, come again in so many seconds. Raises NotParked."""
        entries = [
            {"Id": str(number), "ReceiptHandle": receipt, "VisibilityTimeout": int(seconds)}
            for number, (receipt, seconds) in enumerate(waits.items())
        ]
        for start in range(0, len(entries), BATCH):
            batch = entries[start : start + BATCH]
            self._call("ChangeMessageVisibilityBatch", {"QueueUrl": self._url, "Entries": batch})

    def _call(self, action: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        headers = {"content-type": "application/x-amz-json-1.0", "x-amz-target": f"AmazonSQS.{action}"}
        try:
            status, body = self._client.post("/", json.dumps(parameters).encode(), headers)
        except (OSError, http.client.HTTPException) as error:
            self._client.close()
            raise NotParked(f"SQS could not be reached: {type(error).__name__}", isinstance(error, TimeoutError)) from None
        if status != 200:
            raise NotParked(f"SQS answered {status}: {body[:300].decode('utf-8', 'replace')}")
        try:
            answer = jsontext.loads(body.decode("utf-8", "replace"))
        except ValueError:
            answer = None
        return answer if isinstance(answer, dict) else {}


def texts(delivery: Delivery) -> list[str]:
    """The bodies of the messages that carry a delivery: one, or its parts. They are ASCII."""
    fields = {
        **delivery._asdict(),
        "headers": dict(delivery.headers),
        "body": base64.b64encode(delivery.body).decode(),
        "received_at": delivery.received_at.isoformat(),
    }
    text = json.dumps(fields)
    if len(text) <= LARGEST:
        return [text]
    pieces = [text[start : start + PART] for start in range(0, len(text), PART)]
    return [json.dumps(Part(delivery.token, number, len(pieces), piece)._asdict()) for number, piece in enumerate(pieces)]


def read(text: object) -> Delivery | Part:
    """What the body of a message carries. Raises ValueError that says what is wrong with it."""
    fields = jsontext.loads(text if isinstance(text, str) else "")
    if not isinstance(fields, dict):
        raise ValueError("it is no JSON object")
    if not _token.fullmatch(_field(fields, "token", str)):
        raise ValueError("token must be 32 hexadecimal digits")
    if "part" in fields:
        part, of = (_field(fields, name, int) for name in ("part", "of"))
        return Part(fields["token"], part, of, _field(fields, "data", str))
    return Delivery(
        token=fields["token"],
        source=_field(fields, "source", str),
        dedup_key=None if fields.get("dedup_key") is None else _field(fields, "dedup_key", str),
        headers={str(name): str(value) for name, value in _field(fields, "headers", dict).items()},
        body=base64.b64decode(_field(fields, "body", str), validate=True),
        received_at=_instant(_field(fields, "received_at", str)),
        correlation_id=_field(fields, "correlation_id", str),
    )


def _field(fields: Mapping[str, Any], name: str, kind: type) -> Any:
    value = fields.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{name} must be a {kind.__name__}, not {type(value).__name__}")
    return value


def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    if instant.utcoffset() is None:
        raise ValueError("received_at must have a time zone")
    return instant
