"""What tests of functions that talk to AWS share: moto's server on a port of its own, and queues there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer
from tidemill import outbox, outlets
from tidemill.db import Database
from tidemill.relay import Relay
from tidemill.telemetry import Log

from tests.functions.invoking import Lambda
from tests.functions.relaying import QUEUE, MakeRelay


@pytest.fixture(scope="session")
def aws_url() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def aws(aws_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an AWS that this process, and what it starts, talk to."""
    for name, value in {
        "AWS_ENDPOINT_URL": aws_url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    return aws_url


class Queue:
    """An SQS queue; `receive` gives its messages, which then are hidden."""

    def __init__(self, client: Any, url: str) -> None:
        self.client = client
        self.url = url

    def receive(self, most: int = 1000) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while len(found) < most:
            answer = self.client.receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=min(10, most - len(found)),
                AttributeNames=["All"],
                MessageAttributeNames=["All"],
            )
            if not (messages := answer.get("Messages")):
                break
            found += messages
        return found


@pytest.fixture
def make_queue(aws: str) -> Iterator[Callable[..., Queue]]:
    client = boto3.client("sqs")
    made: list[str] = []

    def make(name: str = "orders", **attributes: str) -> Queue:
        made.append(client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])
        return Queue(client, made[-1])

    yield make
    for url in made:
        client.delete_queue(QueueUrl=url)


class Told:
    """Stands in for the alerts."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.flushes = 0

    def alert(self, text: str, key: str | None = None) -> None:
        self.texts.append(text)

    def flush(self) -> None:
        self.flushes += 1


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def make_relay(database_url: str, told: Told) -> Iterator[MakeRelay]:
    databases: list[Database] = []

    def make(client: Any = None, address: str = QUEUE, topic: str = "orders") -> Relay:
        databases.append(Database(database_url))
        target = outbox.target(address)
        assert target is not None
        make_client = outlets.client if client is None else lambda target: client
        return Relay(databases[-1], {topic: target}, Log(), told, make_client)  # type: ignore[arg-type]

    yield make
    for database in databases:
        database.close()


@pytest.fixture
def operated(monkeypatch: pytest.MonkeyPatch, database_url: str) -> pytest.MonkeyPatch:
    """An environment in which the CLI works on the test's database."""
    for name in ("DRAIN_FUNCTION", "SETTINGS_SECRET_ARN", "DATABASE_SECRET_ARN", "PUBLIC_URL", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("AUTOMATIONS", "tests.functions.operated")
    monkeypatch.setenv("COLUMNS", "200")
    return monkeypatch


@pytest.fixture
def lambda_api(operated: pytest.MonkeyPatch) -> Iterator[Lambda]:
    """The stack `prod`: its replay function, which works on the test's database."""
    fake = Lambda()
    for name, value in {
        "AWS_ENDPOINT_URL_LAMBDA": fake.server.url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "eu-south-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        operated.setenv(name, value)
    operated.delenv("AWS_DEFAULT_REGION", raising=False)
    yield fake
    fake.server.close()
