"""Writing to the outbox: with the work, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tidemill import outbox
from tidemill.db import connect
from tidemill.errors import ConfigurationError
from tidemill.handlers import Handler
from tidemill.model import Job
from tidemill.outbox import Target
from tidemill.wire import Connection
from tidemill.worker import Worker

from tests.queue.conftest import put


def rows(connection: Connection) -> list[tuple[Any, ...]]:
    return connection.execute("select topic, payload, attributes from outbox order by id").fetchall()


def test_a_row_carries_topic_payload_and_correlation_id(connection: Connection, worker: Callable[..., Worker]) -> None:
    put(connection, correlation_id="c-1")
    ids: list[int] = []
    handler = Handler("work", lambda job, ctx: ids.append(ctx.publish("invoice.paid", {"number": "Grüße 1"})))
    assert worker(handler).drain(120) == {"done": 1}
    assert rows(connection) == [("invoice.paid", {"number": "Grüße 1"}, {"correlation_id": "c-1"})]
    state = "id, run_at <= now(), locked_until, published_at, failed_at, attempts, last_error"
    assert connection.execute(f"select {state} from outbox").fetchall() == [(ids[0], True, None, None, None, 0, None)]  # type: ignore[arg-type]


def test_it_is_written_with_the_handlers_transaction_or_not_at_all(
    connection: Connection, worker: Callable[..., Worker]
) -> None:
    put(connection, max_attempts=1)

    def handle(job: Job, ctx: Any) -> None:
        ctx.publish("alone", 1)
        with ctx.connection.transaction():
            ctx.publish("undone", 2)
            raise ValueError("no")

    assert worker(Handler("work", handle)).drain(120) == {"failed": 1}
    assert rows(connection) == [("alone", 1, {})]


def test_it_takes_a_connection(database_url: str, connection: Connection, worker: Callable[..., Worker]) -> None:
    put(connection)

    def handle(job: Job, ctx: Any) -> None:
        with connect(database_url) as own, own.transaction(force_rollback=True):
            ctx.publish("undone", 1, connection=own)

    worker(Handler("work", handle)).drain(120)
    assert rows(connection) == []


def test_a_plain_insert_is_a_row(connection: Connection) -> None:
    connection.execute("insert into outbox (topic, payload) values ('t', '{}')")
    assert rows(connection) == [("t", {}, {})]


@pytest.mark.parametrize(
    ("topic", "payload", "named"),
    [
        ("", 1, "topic"),
        (None, 1, "topic"),
        ("x" * 201, 1, "topic"),
        ("t", {1, 2}, "payload"),
        ("t", float("nan"), "payload"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_the_name_of_the_field(
    connection: Connection, topic: Any, payload: Any, named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        outbox.publish(connection, topic, payload)
    assert rows(connection) == []


def test_a_worker_knows_whether_something_was_published(connection: Connection, worker: Callable[..., Worker]) -> None:
    put(connection)
    put(connection, kind="tell")
    drain = worker(Handler("work", lambda job, ctx: None), Handler("tell", lambda job, ctx: ctx.publish("t", 1)))
    assert drain.take_published() is False
    drain.drain(120)
    assert [drain.take_published(), drain.take_published()] == [True, False]


# Where topics go

QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders"
BUS = "arn:aws:events:eu-west-1:123456789012:event-bus/default"


@pytest.mark.parametrize(
    ("address", "target"),
    [
        (QUEUE, Target("sqs", QUEUE, "eu-west-1")),
        (QUEUE + ".fifo", Target("sqs", QUEUE + ".fifo", "eu-west-1")),
        (
            "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/q",
            Target("sqs", "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/q", "cn-north-1"),
        ),
        ("https://queue.amazonaws.com/123456789012/q", Target("sqs", "https://queue.amazonaws.com/123456789012/q")),
        (
            "http://127.0.0.1:5000/123456789012/q",
            Target("sqs", "http://127.0.0.1:5000/123456789012/q", endpoint="http://127.0.0.1:5000"),
        ),
        (BUS, Target("events", BUS, "eu-west-1")),
    ],
)
def test_an_address_says_what_and_where_the_target_is(address: str, target: Target) -> None:
    assert outbox.targets({"OUTBOX_TARGETS": f'{{"t": "{address}"}}'}) == {"t": target}


@pytest.mark.parametrize(
    "address", ["", "orders", 7, None, "arn:aws:sqs:eu-west-1:123456789012:orders", "ftp://a/b", "http://a"]
)
def test_every_topic_whose_target_is_none_is_named(address: object) -> None:
    given = {"good": QUEUE, "bad.one": address, "bad.two": address}
    with pytest.raises(ConfigurationError, match=r"OUTBOX_TARGETS.*'bad\.one'.*'bad\.two'"):
        outbox.targets({"OUTBOX_TARGETS": json.dumps(given)})


@pytest.mark.parametrize(("given", "said"), [("{", "not JSON"), ("[]", "JSON object"), ('"x"', "JSON object")])
def test_targets_that_are_no_object_are_refused(given: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=f"OUTBOX_TARGETS .*{said}"):
        outbox.targets({"OUTBOX_TARGETS": given})


def test_without_the_setting_nothing_has_a_target() -> None:
    assert outbox.targets({}) == outbox.targets({"OUTBOX_TARGETS": "  "}) == {}


def test_the_queue_of_jobs_has_a_setting_of_its_own_which_a_target_goes_before() -> None:
    other = QUEUE + "-jobs"
    assert outbox.targets({"JOBS_QUEUE_URL": other}) == {"jobs": Target("sqs", other, "eu-west-1")}
    both = {"JOBS_QUEUE_URL": other, "OUTBOX_TARGETS": f'{{"jobs": "{QUEUE}"}}'}
    assert outbox.targets(both) == {"jobs": Target("sqs", QUEUE, "eu-west-1")}
