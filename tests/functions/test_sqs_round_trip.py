"""Out to SQS and back, through moto's queue: drain, relay, queue, consume; and the letters that nobody could run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tidemill.app import App
from tidemill.consume import MOST_RECEIVES
from tidemill.errors import RateLimited
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.settings import Settings
from tidemill.wire import Connection

from tests.functions.conftest import Queue
from tests.functions.consuming import column, reported
from tests.queue.conftest import put

MakeQueue = Callable[..., Queue]


class World:
    """The functions of one stack, around one queue, and Lambda's poller between the two."""

    def __init__(self, url: str, queue: Queue, *handlers: Handler) -> None:
        targets = json.dumps({"jobs": queue.url})
        self.app = App(Settings({"DATABASE_URL": url, "OUTBOX_TARGETS": targets, "DRAIN_LINGER": "0"}), handlers)
        self.queue = queue
        self.out: list[str] = []

    def send(self) -> int:
        """Drain and relay; how many messages went out."""
        self.app.drain.handle(None, None)
        return int(self.app.relay.handle(None, None)["sent"])

    def deliver(self, most: int = 1000) -> list[str]:
        """Give the function what the queue has, delete what it does not report, and return the bodies of what it does."""
        messages = self.queue.receive(most)
        records = [
            {
                "messageId": one["MessageId"],
                "receiptHandle": one["ReceiptHandle"],
                "body": one["Body"],
                "attributes": one["Attributes"],
            }
            for one in messages
        ]
        again = reported(self.app.consume.handle({"Records": records}, None))
        self.out = [one["ReceiptHandle"] for one in messages if one["MessageId"] in again]
        for one in messages:
            if one["MessageId"] not in again:
                self.queue.client.delete_message(QueueUrl=self.queue.url, ReceiptHandle=one["ReceiptHandle"])
        return [one["Body"] for one in messages if one["MessageId"] in again]

    def pass_time(self, connection: Connection) -> None:
        """What is hidden is shown again, and what waits is due."""
        for receipt in self.out:
            self.queue.client.change_message_visibility(QueueUrl=self.queue.url, ReceiptHandle=receipt, VisibilityTimeout=0)
        due = "now() + case when sent_at is null then interval '0' else interval '1 day' end"
        connection.execute(f"update jobs set run_at = {due} where status = 'pending'")  # type: ignore[arg-type]

    def hidden(self) -> int:
        """Messages that were received and not deleted."""
        names = ["ApproximateNumberOfMessagesNotVisible"]
        answer = self.queue.client.get_queue_attributes(QueueUrl=self.queue.url, AttributeNames=names)
        return int(answer["Attributes"][names[0]])


def test_jobs_go_out_come_back_and_are_done(connection: Connection, database_url: str, make_queue: MakeQueue) -> None:
    put(connection, 25, payload='{"a": 1}')
    world = World(database_url, make_queue(), Handler("work", lambda job, ctx: job.payload, via="sqs"))
    assert (world.send(), world.deliver(), world.hidden()) == (25, [], 0)
    assert column(connection, "status, attempts, result") == [("done", 1, {"a": 1})] * 25
    assert (world.send(), world.deliver()) == (0, [])


def test_a_rate_limited_job_stays_in_the_queue_hidden_for_its_wait(
    connection: Connection, database_url: str, make_queue: MakeQueue
) -> None:
    [job] = put(connection)
    waits = [RateLimited(30)]

    def handle(job: Job, ctx: Any) -> None:
        if waits:
            raise waits.pop()

    queue = make_queue(VisibilityTimeout="0")  # so that only what the function asks for can hide it
    world = World(database_url, queue, Handler("work", handle, via="sqs"))
    world.send()
    assert world.deliver(1) == [f'{{"job": {job}}}']
    assert (world.hidden(), queue.receive(), column(connection, "status, attempts")) == (1, [], [("pending", 0)])
    assert world.send() == 0  # nobody sends it a second time meanwhile


@pytest.fixture
def dead(make_queue: MakeQueue) -> Queue:
    """Where messages go after five deliveries."""
    return make_queue("dead")


@pytest.fixture
def queue(make_queue: MakeQueue, dead: Queue) -> Queue:
    answer = dead.client.get_queue_attributes(QueueUrl=dead.url, AttributeNames=["QueueArn"])
    redrive = {"deadLetterTargetArn": answer["Attributes"]["QueueArn"], "maxReceiveCount": MOST_RECEIVES}
    return make_queue(RedrivePolicy=json.dumps(redrive))


def test_a_job_with_more_attempts_than_a_message_has_deliveries_uses_them_all(
    connection: Connection, database_url: str, queue: Queue, dead: Queue
) -> None:
    """After its last delivery a message is done with, and its job is sent anew."""
    put(connection, max_attempts=7)

    def fail(job: Job, ctx: Any) -> None:
        raise ValueError(f"attempt {job.attempt}")

    world = World(database_url, queue, Handler("work", fail, via="sqs"))
    sent = 0
    for _ in range(9):
        sent += world.send()
        world.deliver()
        world.pass_time(connection)
    assert column(connection, "status, attempts, last_error") == [("failed", 7, "attempt 7")]
    assert (sent, world.hidden(), dead.receive()) == (2, 0, [])


def test_a_body_that_names_no_job_ends_among_the_dead_letters(
    connection: Connection, database_url: str, queue: Queue, dead: Queue
) -> None:
    world = World(database_url, queue)
    queue.client.send_message(QueueUrl=queue.url, MessageBody="not JSON")
    for _ in range(5):
        assert (world.deliver(), dead.receive()) == (["not JSON"], [])
        world.pass_time(connection)
    assert world.deliver() == []
    assert [one["Body"] for one in dead.receive()] == ["not JSON"]


def test_a_retry_by_the_operator_sends_a_job_anew_and_an_old_message_does_no_harm(
    connection: Connection, database_url: str, queue: Queue
) -> None:
    [job] = put(connection, max_attempts=1)
    broken = [ValueError("no")]

    def handle(job: Job, ctx: Any) -> None:
        if broken:
            raise broken.pop()

    world = World(database_url, queue, Handler("work", handle, via="sqs"))
    world.send()
    queue.client.send_message(QueueUrl=queue.url, MessageBody=f'{{"job": {job}}}')  # SQS may deliver one twice
    assert world.deliver() == []
    assert column(connection, "status, attempts") == [("failed", 1)]
    assert world.app.operator.run({"command": "retry", "job": job})["changed"] == 1
    assert (world.send(), world.deliver()) == (1, [])
    assert column(connection, "status, attempts") == [("done", 1)]
