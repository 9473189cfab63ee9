"""What the tests of the relay share: a stand-in for AWS, and rows of the outbox."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError
from tidemill import outbox
from tidemill.relay import Relay
from tidemill.wire import Connection

QUEUE = "https://sqs.us-east-1.amazonaws.com/123456789012/orders"
Answer = Callable[..., Any]
MakeRelay = Callable[..., Relay]


class Client:
    """Stands in for AWS: keeps what it is sent, and answers as it is told."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.batches: list[list[dict[str, Any]]] = []
        self._answer = answer or (lambda entries: {"Successful": [{"Id": one["Id"]} for one in entries]})

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> Any:  # noqa: N803
        self.batches.append(Entries)
        return self._answer(Entries)

    def put_events(self, Entries: list[dict[str, Any]]) -> Any:  # noqa: N803
        self.batches.append(Entries)
        return self._answer(Entries)

    def bodies(self) -> list[Any]:
        return sorted((json.loads(one["MessageBody"]) for batch in self.batches for one in batch), key=str)


def publish(connection: Connection, payload: object = 1, topic: str = "orders", correlation_id: str = "c-1") -> int:
    return outbox.publish(connection, topic, payload, correlation_id)


def state(connection: Connection) -> list[tuple[Any, ...]]:
    """Of each row: published, failed, attempts, whether it waits for later, whether it is leased, the error."""
    columns = (
        "published_at is not null, failed_at is not null, attempts, run_at > now(), locked_until is not null, last_error"
    )
    return connection.execute(f"select {columns} from outbox order by id").fetchall()  # type: ignore[arg-type]


SENT = (True, False, 1, False, False, None)
RAN = {"ok": True, "retried": 0, "failed": 0}


def refuse(code: str, which: str) -> Answer:
    """Refuses a request as a whole for an entry with this body."""

    def answer(entries: list[dict[str, Any]]) -> Any:
        if any(one["MessageBody"] == which for one in entries):
            raise ClientError({"Error": {"Code": code, "Message": "said so"}}, "SendMessageBatch")
        return {"Successful": [{"Id": one["Id"]} for one in entries]}

    return answer


class Context:
    def __init__(self, *milliseconds: int) -> None:
        self._left = list(milliseconds)

    def get_remaining_time_in_millis(self) -> int:
        return self._left.pop(0)
