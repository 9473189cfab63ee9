"""What the tests of the consume function share: jobs that are out, the messages that bring them, and a queue."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidemill import outbox
from tidemill.app import App
from tidemill.consume import ConsumeFunction
from tidemill.handlers import Handler
from tidemill.settings import Settings
from tidemill.wire import Connection

from tests.functions.relaying import QUEUE
from tests.queue.conftest import put


class Hiding:
    """Stands in for the queue: keeps for how long each receipt is hidden."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.hidden: dict[str, int] = {}
        self.requests = 0
        self._fault = fault

    def change_message_visibility_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> Any:  # noqa: N803
        assert QueueUrl == QUEUE and len(Entries) <= 10
        self.requests += 1
        if self._fault:
            raise self._fault
        self.hidden.update({one["ReceiptHandle"]: one["VisibilityTimeout"] for one in Entries})
        return {"Successful": [{"Id": one["Id"]} for one in Entries], "Failed": []}


def function(url: str, *handlers: Handler, queue: Hiding | None = None, **settings: str) -> ConsumeFunction:
    """The consume function of an app with these handlers; all of them run from the queue."""
    app = App(Settings({"DATABASE_URL": url, **settings}), [replace(one, via="sqs") for one in handlers])
    consume = app.consume
    if queue is None:
        return consume
    target = outbox.target(QUEUE)
    return ConsumeFunction(consume._drain, consume._claimer, app.database, target, app.log, lambda target: queue)


def put_out(connection: Connection, count: int = 1, **columns: Any) -> list[int]:
    """Jobs as a drain leaves them when it has sent them out."""
    ids = put(connection, count, **columns)
    connection.execute("update jobs set sent_at = now(), run_at = run_at + interval '1 day' where id = any(%s)", (ids,))
    return ids


def event(*jobs: object, receives: int = 1) -> dict[str, Any]:
    """What Lambda gives the function for messages with these jobs; a text is a body, and no job."""
    return {
        "Records": [
            {
                "messageId": f"m{number}",
                "receiptHandle": f"r{number}",
                "body": one if isinstance(one, str) else json.dumps({"job": one}),
                "attributes": {"ApproximateReceiveCount": str(receives)},
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:tidemill-jobs",
                "awsRegion": "us-east-1",
            }
            for number, one in enumerate(jobs)
        ]
    }


def reported(answer: Mapping[str, Any]) -> list[str]:
    """The messages that are to come again."""
    assert set(answer) == {"batchItemFailures"}
    return [one["itemIdentifier"] for one in answer["batchItemFailures"]]


def column(connection: Connection, names: str, where: str = "true") -> list[tuple[Any, ...]]:
    return connection.execute(f"select {names} from jobs where {where} order by id").fetchall()  # type: ignore[arg-type]
