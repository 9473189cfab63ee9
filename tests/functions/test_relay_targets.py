"""The relay on the way to SQS and EventBridge, as moto has them."""

from __future__ import annotations

import json
from collections.abc import Callable

import boto3
from tidemill.wire import Connection

from tests.functions.conftest import Queue
from tests.functions.relaying import RAN, SENT, Client, MakeRelay, publish, state

BUS = "arn:aws:events:us-east-1:123456789012:event-bus/shop"


# To SQS, as moto has it


def test_a_message_is_the_payload_with_id_topic_and_correlation_id(
    connection: Connection, make_queue: Callable[..., Queue], make_relay: MakeRelay
) -> None:
    queue = make_queue()
    row = publish(connection, {"number": "№ 1", "line\n": "\x01"})
    assert make_relay(address=queue.url).handle({"anything": 1}, None) == {**RAN, "sent": 1}
    [message] = queue.receive()
    assert json.loads(message["Body"]) == {"number": "№ 1", "line\n": "\x01"}
    attributes = {name: value["StringValue"] for name, value in message["MessageAttributes"].items()}
    assert attributes == {"id": str(row), "topic": "orders", "correlation_id": "c-1"}
    assert state(connection) == [SENT]


def test_a_plain_insert_is_sent_with_its_attributes_and_without_empty_ones(
    connection: Connection, make_queue: Callable[..., Queue], make_relay: MakeRelay
) -> None:
    queue = make_queue()
    attributes = '{"shop": 7, "id": "x", "correlation_id": ""}'
    connection.execute("insert into outbox (topic, payload, attributes) values ('orders', '[1, 2]', %s)", (attributes,))
    make_relay(address=queue.url).handle(None, None)
    [message] = queue.receive()
    assert message["Body"] == "[1, 2]"
    assert {name: value["StringValue"] for name, value in message["MessageAttributes"].items()} == {
        "shop": "7",
        "id": "1",
        "topic": "orders",
    }


def test_many_rows_go_out_once_each(connection: Connection, make_queue: Callable[..., Queue], make_relay: MakeRelay) -> None:
    """B93: 48 rows."""
    queue = make_queue()
    for number in range(48):
        publish(connection, number)
    relay = make_relay(address=queue.url)
    assert [relay.handle(None, None)["sent"] for _ in range(2)] == [48, 0]
    assert sorted(json.loads(one["Body"]) for one in queue.receive()) == list(range(48))


def test_on_a_fifo_queue_a_row_that_is_sent_again_arrives_once(
    connection: Connection, make_queue: Callable[..., Queue], make_relay: MakeRelay
) -> None:
    queue = make_queue("orders.fifo", FifoQueue="true")
    ids = [publish(connection, number) for number in (1, 2)]
    relay = make_relay(address=queue.url)
    relay.handle(None, None)
    connection.execute("update outbox set published_at = null")  # as if it had died before it could mark them
    assert relay.handle(None, None)["sent"] == 2
    received = queue.receive()
    assert sorted(int(one["Attributes"]["MessageDeduplicationId"]) for one in received) == ids
    assert len({one["Attributes"]["MessageGroupId"] for one in received}) == 2  # so that none waits for another


# To EventBridge


def test_an_event_carries_topic_and_payload_and_reaches_the_rules_of_its_bus(
    connection: Connection, make_queue: Callable[..., Queue], make_relay: MakeRelay
) -> None:
    queue = make_queue()
    events = boto3.client("events")
    bus = events.create_event_bus(Name="shop")["EventBusArn"]
    events.put_rule(Name="all", EventBusName="shop", EventPattern='{"source": ["tidemill"]}')
    arn = queue.client.get_queue_attributes(QueueUrl=queue.url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events.put_targets(Rule="all", EventBusName="shop", Targets=[{"Id": "q", "Arn": arn}])
    row = publish(connection, {"number": 1})
    assert make_relay(address=bus).handle(None, None) == {**RAN, "sent": 1}
    [message] = queue.receive()
    event = json.loads(message["Body"])
    assert (event["source"], event["detail-type"], event["detail"]) == ("tidemill", "orders", {"number": 1})
    assert sorted(event["resources"]) == ["correlation_id:c-1", f"id:{row}"]
    assert state(connection) == [SENT]


def test_of_a_batch_of_events_exactly_those_are_marked_that_were_accepted(
    connection: Connection, make_relay: MakeRelay
) -> None:
    for payload in ({"n": 1}, {"n": 2}, [3]):
        publish(connection, payload)
    answers = {
        '{"n": 1}': {"EventId": "e"},
        '{"n": 2}': {"ErrorCode": "ThrottlingException", "ErrorMessage": "slower"},
        "[3]": {"ErrorCode": "MalformedDetail", "ErrorMessage": "no object"},
    }
    client = Client(lambda entries: {"Entries": [answers[one["Detail"]] for one in entries]})
    assert make_relay(client, BUS).handle(None, None) == {"ok": True, "sent": 1, "retried": 1, "failed": 1}
    assert state(connection) == [
        SENT,
        (False, False, 1, True, False, "ThrottlingException: slower"),
        (False, True, 1, False, False, "MalformedDetail: no object"),
    ]
    [[entry, *_]] = client.batches
    assert entry["EventBusName"] == BUS
