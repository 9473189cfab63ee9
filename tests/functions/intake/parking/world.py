"""What the tests of parking share: a database that can be taken away, and what Lambda makes of the messages of a queue."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import psycopg
from tidemill import park
from tidemill.absorb import AbsorbFunction
from tidemill.alerts import Alerts
from tidemill.arrival import Arrivals
from tidemill.db import Database, connect
from tidemill.intake import Intake
from tidemill.model import Delivery
from tidemill.park import Parking
from tidemill.settings import Settings
from tidemill.telegram import Telegram
from tidemill.telemetry import Log
from tidemill.wire import Connection

from tests.functions.conftest import Queue
from tests.functions.intake import sources
from tests.functions.intake.conftest import Answer
from tests.functions.intake.direct import intake
from tests.functions.intake.sources import SECRETS

RECEIVED = datetime(2027, 1, 15, 8, 0, 0, 250_000, UTC)

ENVIRON = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


class World:
    """An intake and an absorb function, each with a database connection of its own, and the queue between them."""

    def __init__(self, url: str, queue: Queue | None, queue_url: str | None = None, **settings: str) -> None:
        self.url = url
        self.queue = queue
        self.away = False
        self.connects = 0
        self.woken = 0
        self.time = 1_800_000_000.25
        self.told: list[str] = []
        self.hidden: dict[str, float] = {}
        self._database = Database(url, self._connect)
        self._parking = Parking(queue_url or (queue.url if queue else "https://nowhere.invalid/q"), ENVIRON)
        self.intake = self.make_intake(self._database, settings)

    def make_intake(self, database: Database, settings: dict[str, str] | None = None) -> Intake:
        chosen = {**SECRETS, **(settings or {})}
        return intake(database, self.wake, settings=chosen, parking=self._parking, now=lambda: self.time)

    def wake(self) -> None:
        self.woken += 1

    def take_away(self) -> None:
        self.away = True
        self._database.close()

    def post(self, event: object) -> Answer:
        answer = self.intake.handle(event, None)
        return Answer(answer["statusCode"], json.loads(answer["body"]), answer["headers"])

    def absorber(self, database: Database | None = None) -> AbsorbFunction:
        database = database or Database(self.url, self._connect)
        settings = Settings(SECRETS)
        log = Log(settings.redact)
        by_name = {one.name: one for one in (sources.shop, sources.other, sources.bot, sources.plain)}
        limits = {"limited": "narrow"}
        arrivals = Arrivals(database, by_name, settings, log, limits, self.wake)
        alerts = Alerts(settings, Telegram(settings), log)
        alerts.alert = lambda text, key=None: self.told.append(text)  # type: ignore[method-assign]
        return AbsorbFunction(database, arrivals, self._hiding(), log, alerts)

    def absorb(self, most: int = 1000) -> list[str]:
        """Give the function what the queue has, ten at a time, delete what it does not report, and return the ids of what
        it does."""
        assert self.queue is not None
        function, reported = self.absorber(), []
        while messages := self.queue.receive(min(10, most)):
            again = reported_by(function.handle(event(messages), None))
            for one in messages:
                if one["MessageId"] not in again:
                    self.queue.client.delete_message(QueueUrl=self.queue.url, ReceiptHandle=one["ReceiptHandle"])
            reported += again
        return reported

    def _hiding(self) -> Parking:
        parking = Parking("https://nowhere.invalid/q", ENVIRON)
        parking.hide = self.hidden.update  # type: ignore[method-assign, assignment]
        return parking

    def _connect(self, url: str) -> Connection:
        self.connects += 1
        if self.away:
            raise psycopg.OperationalError("connection refused")
        return connect(url)


def event(messages: Iterable[dict[str, Any]], receives: int | None = None) -> dict[str, Any]:
    """What Lambda gives the function for messages as boto3 receives them."""
    return {
        "Records": [
            {
                "messageId": one["MessageId"],
                "receiptHandle": one["ReceiptHandle"],
                "body": one["Body"],
                "attributes": {"ApproximateReceiveCount": str(receives or one["Attributes"]["ApproximateReceiveCount"])},
            }
            for one in messages
        ]
    }


def bodies(*texts: str | Delivery, receives: int = 1) -> dict[str, Any]:
    """What Lambda gives the function for these bodies; the messages are m0, m1, ..."""
    found = [text for one in texts for text in ([one] if isinstance(one, str) else park.texts(one))]
    messages = [
        {"MessageId": f"m{number}", "ReceiptHandle": f"r{number}", "Body": text} for number, text in enumerate(found)
    ]
    return event(messages, receives)


def reported_by(answer: dict[str, Any]) -> list[str]:
    assert set(answer) == {"batchItemFailures"}
    return [one["itemIdentifier"] for one in answer["batchItemFailures"]]


def parked(number: int, body: object, key: str | None = None, source: str = "shop", **fields: Any) -> Delivery:
    """The delivery with this number; a body that is not bytes is JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    one = Delivery(f"{number:032x}", source, key, {"accept": "*/*"}, data, RECEIVED, f"c-{number}")
    return one._replace(**fields)


def absorb(world: World, *texts: str | Delivery, receives: int = 1) -> list[str]:
    """Give these to the function; the ids of the messages that it reports."""
    return reported_by(world.absorber().handle(bodies(*texts, receives=receives), None))


def carried(queue: Queue) -> list[Delivery]:
    """The deliveries that the queue holds, each in one message."""
    found = [park.read(one["Body"]) for one in queue.receive()]
    return [one for one in found if isinstance(one, Delivery)]
