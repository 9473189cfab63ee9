"""The ways out of the outbox: a batch of rows to SQS or EventBridge, and what became of each.

What is wrong with a row sets it aside; what is wrong with its target, or with the way there, is tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from tidemill.outbox import Target

LARGEST = 1024 * 1024  # bytes of a row with its attributes
MOST = 10  # rows in a batch
# SendMessageBatch counts bodies and attributes (names, types and values); PutEvents "less than 1MB", which may be decimal.
LARGEST_BATCH = {"sqs": LARGEST, "events": 1_000_000}

# Codes of errors that lie in what was sent; those of SQS may come with a prefix.
_refusals = {
    "InvalidMessageContents", "InvalidParameterValue", "InvalidAttributeValue", "BatchRequestTooLong", "MissingParameter",
    "UnsupportedOperation", "ValidationException", "InvalidArgument", "MalformedDetail", "RedactionFailure",
}  # fmt: skip

Clients = Callable[[Target], Any]


class Outgoing(NamedTuple):
    """A row on its way. `attributes` are texts; `attempt` counts from 1."""

    id: int
    topic: str
    body: str
    attributes: dict[str, str]
    attempt: int

    def size(self) -> int:
        """Bytes, as SQS counts them."""
        described = sum(len(name.encode()) + len("String") + len(value.encode()) for name, value in self.attributes.items())
        return len(self.body.encode()) + described


class Verdict(NamedTuple):
    """What became of a row: `word` is sent, retried or failed."""

    row: Outgoing
    word: str
    error: str | None = None


def batches(target: Target, rows: Iterable[Outgoing]) -> Iterator[list[Outgoing]]:
    """The rows in batches that the target takes, by number and by bytes."""
    batch: list[Outgoing] = []
    size = 0
    for row in rows:
        if batch and (len(batch) == MOST or size + row.size() > LARGEST_BATCH[target.service]):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += row.size()
    if batch:
        yield batch


def send(client: Any, target: Target, batch: list[Outgoing]) -> list[Verdict]:
    """Send one batch; a verdict for each row. A batch that is refused as a whole for what is in it goes row by row."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return _ways[target.service](client, target, batch)
    except ClientError as error:
        refused = is_refusal(error.response["Error"].get("Code", ""))
        if refused and len(batch) > 1:
            return [verdict for row in batch for verdict in send(client, target, [row])]
        return [Verdict(row, "failed" if refused else "retried", _text(error)) for row in batch]
    except BotoCoreError as error:
        return [Verdict(row, "retried", _text(error)) for row in batch]


def is_refusal(code: str) -> bool:
    """Whether an error with this code would come again with the same row."""
    return code.rpartition(".")[2] in _refusals


def client(target: Target) -> Any:
    """A client whose answers are in before the lease of a row is over."""
    import boto3
    from botocore.config import Config

    config = Config(connect_timeout=2, read_timeout=10, retries={"total_max_attempts": 2}, max_pool_connections=20)
    return boto3.client(target.service, region_name=target.region, endpoint_url=target.endpoint, config=config)


def _to_sqs(client: Any, target: Target, batch: list[Outgoing]) -> list[Verdict]:
    """On a FIFO queue each row is a group of its own, since no order is promised, and its id tells repetitions."""
    fifo = target.address.endswith(".fifo")
    entries = [
        {
            "Id": str(row.id),
            "MessageBody": row.body,
            "MessageAttributes": {
                name: {"DataType": "String", "StringValue": value} for name, value in row.attributes.items()
            },
            **({"MessageGroupId": str(row.id), "MessageDeduplicationId": str(row.id)} if fifo else {}),
        }
        for row in batch
    ]
    answer = client.send_message_batch(QueueUrl=target.address, Entries=entries)
    accepted = {one["Id"] for one in answer.get("Successful", ())}
    refused = {one["Id"]: one for one in answer.get("Failed", ())}
    return [
        Verdict(row, "sent") if str(row.id) in accepted else _refused_by_sqs(row, refused.get(str(row.id), {}))
        for row in batch
    ]


def _refused_by_sqs(row: Outgoing, fault: dict[str, Any]) -> Verdict:
    text = f"{fault.get('Code', 'no answer for this row')}: {fault.get('Message', '')}"
    return Verdict(row, "failed" if fault.get("SenderFault") else "retried", text)


def _to_events(client: Any, target: Target, batch: list[Outgoing]) -> list[Verdict]:
    """An event has no attributes: id and correlation id stand among its resources."""
    entries = [
        {
            "EventBusName": target.address,
            "Source": "tidemill",
            "DetailType": row.topic,
            "Detail": row.body,
            "Resources": [f"{name}:{value}" for name, value in row.attributes.items() if name != "topic"],
        }
        for row in batch
    ]
    answers = client.put_events(Entries=entries)["Entries"]
    return [
        Verdict(row, "sent") if answer.get("EventId") else _refused_by_events(row, answer)
        for row, answer in zip(batch, answers, strict=True)
    ]


def _refused_by_events(row: Outgoing, fault: dict[str, Any]) -> Verdict:
    code = str(fault.get("ErrorCode", ""))
    return Verdict(row, "failed" if is_refusal(code) else "retried", f"{code}: {fault.get('ErrorMessage', '')}")


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


_ways = {"sqs": _to_sqs, "events": _to_events}
