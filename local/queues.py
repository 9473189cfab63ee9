"""What Lambda does between an SQS queue and a function: receives, invokes, deletes what is not reported.

There are queues here only where the settings name them, such as those of moto's server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from local.cloudformation import REGION
from local.functions import InvokeError

# The setting that names a queue, and the function that gets its messages.
FUNCTIONS = {"PARKING_QUEUE_URL": "absorb", "JOBS_QUEUE_URL": "consume"}
_BATCH = 10
_WAIT = 1  # seconds


def start(url: str, invoke: Callable[[object], Any], ending: threading.Event) -> threading.Thread:
    """Bring the messages of a queue to a function, in a thread of its own until `ending` is set."""
    address = urlsplit(url)
    client = boto3.client(
        "sqs",
        region_name=REGION,
        endpoint_url=f"{address.scheme}://{address.netloc}",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )

    def run() -> None:
        while not ending.is_set():
            try:
                _bring(client, url, invoke)
            except (BotoCoreError, ClientError):  # the queue is away
                ending.wait(_WAIT)

    thread = threading.Thread(target=run, name=f"queue {address.path}", daemon=True)
    thread.start()
    return thread


def _bring(client: Any, url: str, invoke: Callable[[object], Any]) -> None:
    answer = client.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=_BATCH,
        WaitTimeSeconds=_WAIT,
        AttributeNames=["All"],
        MessageAttributeNames=["All"],
    )
    messages = answer.get("Messages", [])
    if not messages:
        return
    with suppress(InvokeError):  # all of them come again
        reported = {one["itemIdentifier"] for one in invoke({"Records": list(map(_record, messages))})["batchItemFailures"]}
        done = [one for one in messages if one["MessageId"] not in reported]
        entries = [{"Id": str(number), "ReceiptHandle": one["ReceiptHandle"]} for number, one in enumerate(done)]
        if entries:
            client.delete_message_batch(QueueUrl=url, Entries=entries)


def _record(message: Mapping[str, Any]) -> dict[str, Any]:
    """https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html, the example event."""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": {
            name: {"stringValue": one.get("StringValue", ""), "dataType": one["DataType"]}
            for name, one in message.get("MessageAttributes", {}).items()
        },
        "eventSource": "aws:sqs",
        "awsRegion": REGION,
    }
