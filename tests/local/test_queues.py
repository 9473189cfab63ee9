"""SQS's part in the local run, with moto's server: what is not reported is deleted, and all else comes again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from local import queues
from local.functions import InvokeError


class Queue:
    def __init__(self, address: str) -> None:
        self.client = boto3.client(
            "sqs", "us-east-1", endpoint_url=address, aws_access_key_id="a", aws_secret_access_key="b"
        )
        self.url = self.client.create_queue(QueueName="local", Attributes={"VisibilityTimeout": "0"})["QueueUrl"]

    def send(self, *bodies: str) -> None:
        for body in bodies:
            self.client.send_message(QueueUrl=self.url, MessageBody=body)


@pytest.fixture
def queue() -> Iterator[Queue]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    queue = Queue(f"http://{host}:{port}")
    yield queue
    queue.client.delete_queue(QueueUrl=queue.url)
    server.stop()


def test_what_a_function_does_not_report_is_deleted_and_all_else_comes_again(queue: Queue) -> None:
    queue.send("good", "bad")
    seen: list[str] = []
    ending, enough = threading.Event(), threading.Event()

    def invoke(event: Any) -> Any:
        seen.extend(record["body"] for record in event["Records"])
        if seen.count("good") == 1 and "again" not in seen:
            seen.append("again")
            raise InvokeError("it died")
        if seen.count("good") == 2 and seen.count("bad") >= 4:
            enough.set()
        reported = [record["messageId"] for record in event["Records"] if record["body"] == "bad"]
        assert all(int(record["attributes"]["ApproximateReceiveCount"]) > 0 for record in event["Records"])
        return {"batchItemFailures": [{"itemIdentifier": one} for one in reported]}

    thread = queues.start(queue.url, invoke, ending)
    assert enough.wait(60)
    ending.set()
    thread.join(60)
    assert not thread.is_alive() and seen.count("good") == 2


def test_a_queue_that_is_away_is_waited_for(queue: Queue) -> None:
    ending = threading.Event()
    thread = queues.start("http://127.0.0.1:1/1/parking", lambda event: None, ending)
    ending.set()
    thread.join(60)
    assert not thread.is_alive()
