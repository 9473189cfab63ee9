"""The outbox: what is to be sent on is written with the work that it tells of, and the relay sends it.

A plain insert does the same in any transaction: `insert into outbox (topic, payload) values (...)`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tidemill import jsontext
from tidemill.errors import ConfigurationError
from tidemill.newjob import text
from tidemill.wire import Connection, run, statement

JOBS = "jobs"  # the topic through which drains send jobs out (settle.sql)

_queue = re.compile(r"https?://[^/\s]+/\S+")
_bus = re.compile(r"arn:[\w-]+:events:([\w-]+):\d{12}:event-bus/\S+")
_aws_queue = re.compile(r"https?://(?:[\w-]+\.)?(?:sqs|queue)\.(?:([\w-]+)\.)?(?:vpce\.)?amazonaws\.com(?:\.cn)?/")


class Target(NamedTuple):
    """Where a topic goes: `service` is sqs or events, `address` a queue URL or the ARN of a bus. `region` None means the
    function's own; `endpoint` is where a queue lives that is not at AWS."""

    service: str
    address: str
    region: str | None = None
    endpoint: str | None = None


def publish(connection: Connection, topic: str, payload: object, correlation_id: str | None = None) -> int:
    """Write a row, in the transaction that is open on the connection if there is one; returns its id, which the receiver
    gets too. Raises ValueError that names the field."""
    try:
        body = jsontext.dumps(payload)
    except ValueError as error:
        raise ValueError(f"payload cannot be stored as JSON: {error}") from None
    attributes = json.dumps({"correlation_id": correlation_id} if correlation_id else {})
    row = {"topic": text("topic", topic), "payload": body, "attributes": attributes}
    return int(run(connection, statement("publish"), row)[0][0])


def targets(settings: Mapping[str, str]) -> dict[str, Target]:
    """Where each topic goes: OUTBOX_TARGETS, a JSON object of topic -> queue URL or bus ARN, over JOBS_QUEUE_URL for the
    topic `jobs`. Raises ConfigurationError that names every topic whose target is none."""
    given = settings.get("OUTBOX_TARGETS", "").strip() or "{}"
    try:
        addresses = jsontext.loads(given)
    except ValueError as error:
        raise ConfigurationError(f"OUTBOX_TARGETS is not JSON: {error}") from None
    if not isinstance(addresses, dict):
        raise ConfigurationError("OUTBOX_TARGETS must be a JSON object of topic -> queue URL or event bus ARN")
    if url := settings.get("JOBS_QUEUE_URL"):
        addresses = {JOBS: url, **addresses}
    found = {topic: target(address) for topic, address in addresses.items()}
    if faults := [topic for topic, one in found.items() if one is None]:
        names = ", ".join(f"{topic!r} ({str(addresses[topic])[:200]})" for topic in faults)
        raise ConfigurationError(f"OUTBOX_TARGETS: neither a queue URL nor the ARN of an event bus: {names}")
    return {topic: one for topic, one in found.items() if one is not None}


def without_target(topics: Iterable[str]) -> dict[str, str]:
    """The troubles of topics whose rows were set aside for want of a target: names, and what is told of each."""
    names = [f"outbox topic {topic[:200]!r}" for topic in topics]
    todo = "give it one in OUTBOX_TARGETS, and put its rows back as docs/outbox.md says"
    return {name: f"{name}: it has no target, so its rows are set aside; {todo}" for name in names}


def target(address: object) -> Target | None:
    """The target of this address, None where it is none."""
    if not isinstance(address, str):
        return None
    if bus := _bus.fullmatch(address):
        return Target("events", address, region=bus[1])
    if not _queue.fullmatch(address):
        return None
    if at_aws := _aws_queue.match(address):
        return Target("sqs", address, region=at_aws[1])
    return Target("sqs", address, endpoint="/".join(address.split("/")[:3]))
