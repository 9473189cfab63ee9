"""The parking queue itself: where it is, what it refuses, and everything by way of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tidemill.db import Database
from tidemill.errors import ConfigurationError
from tidemill.model import Delivery
from tidemill.park import Parking

from tests.functions.conftest import Queue
from tests.functions.intake.conftest import delivery
from tests.functions.intake.direct import intake
from tests.functions.intake.parking.world import ENVIRON, World, carried
from tests.functions.intake.sources import SECRETS


class Refusing:
    """A queue that answers with a status and a body, which are taken in turn; the last one again and again."""

    def __init__(self, *answers: tuple[int, bytes]) -> None:
        self.calls = 0
        left = list(answers)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                outer.calls += 1
                status, body = left.pop(0) if len(left) > 1 else left[0]
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/1/parking"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()


@pytest.fixture
def refusing() -> Iterator[Callable[..., Refusing]]:
    made: list[Refusing] = []

    def make(*answers: tuple[int, bytes]) -> Refusing:
        made.append(Refusing(*answers))
        return made[-1]

    yield make
    for one in made:
        one.server.shutdown()
        one.server.server_close()


@pytest.mark.parametrize(
    "answer", [(403, b'{"__type": "AccessDenied"}'), (500, b""), (200, b"{}"), (200, b"[]"), (200, b"<html>")], ids=str
)
def test_where_neither_database_nor_queue_takes_it_the_sender_is_to_come_again(
    database_url: str, refusing: Callable[..., Refusing], answer: tuple[int, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(database_url, None, refusing(answer).url)
    world.take_away()
    answered = world.post(delivery({}))
    assert (answered.status, answered.headers["Retry-After"]) == (503, "10")
    assert '"not parked"' in capsys.readouterr().out


def test_a_queue_that_nobody_can_reach_is_a_503(database_url: str) -> None:
    world = World(database_url, None, "http://127.0.0.1:1/1/parking")
    world.take_away()
    assert world.post(delivery({})).status == 503


def test_a_queue_that_fails_once_is_asked_again(database_url: str, refusing: Callable[..., Refusing]) -> None:
    answers = refusing((500, b""), (200, b'{"MessageId": "m"}'))
    world = World(database_url, None, answers.url)
    world.take_away()
    assert (world.post(delivery({})).status, answers.calls) == (202, 2)


def test_a_queue_that_fails_while_the_database_is_back_costs_nothing(
    database_url: str, refusing: Callable[..., Refusing]
) -> None:
    """Nobody waits for the database while it is known to be away, unless there is no other way; none is tried twice."""
    queue = refusing((403, b""))
    world = World(database_url, None, queue.url)
    world.take_away()
    for count in (1, 2):
        assert world.post(delivery({})).status == 503
        assert (world.connects, queue.calls) == (count, 2 * count)
    world.away = False
    assert world.post(delivery({})).body["jobs"] == 0


def test_everything_is_parked_where_that_is_asked_for(database_url: str, queue: Queue) -> None:
    world = World(database_url, queue, INTAKE="park")
    assert world.post(delivery({"orders": [1]}, "d")).body == {"parked": True}
    assert (world.connects, len(carried(queue))) == (0, 1)


def test_parking_everything_falls_back_on_the_database(database_url: str, refusing: Callable[..., Refusing]) -> None:
    world = World(database_url, None, refusing((403, b"")).url, INTAKE="park")
    assert world.post(delivery({"orders": [1]}, "d")).body["jobs"] == 1


def test_settings_that_make_no_sense_stop_the_start(database_url: str) -> None:
    with pytest.raises(ConfigurationError, match="INTAKE must be direct or park, not 'later'"):
        World(database_url, None, INTAKE="later")
    with pytest.raises(ConfigurationError, match="INTAKE=park needs PARKING_QUEUE_URL"):
        intake(Database(database_url), settings={**SECRETS, "INTAKE": "park"})
    for url in ("parking", "arn:aws:sqs:us-east-1:1:parking", "https://sqs.us-east-1.amazonaws.com"):
        with pytest.raises(ConfigurationError, match="PARKING_QUEUE_URL must be the URL of an SQS queue"):
            Parking(url, ENVIRON)


def test_the_region_of_a_queue_stands_in_its_address() -> None:
    for host in ("sqs.eu-south-1.amazonaws.com", "sqs.eu-south-1.api.aws"):
        parking = Parking(f"https://{host}/1/parking", ENVIRON)
        assert (parking._client._region, parking._client._endpoint.netloc) == ("eu-south-1", host)


def test_a_queue_is_reached_where_the_environment_says(world: World, queue: Queue) -> None:
    at = queue.url.rpartition("/1")[0]
    elsewhere = Parking("https://sqs.us-east-1.amazonaws.com/123456789012/parking", {**ENVIRON, "AWS_ENDPOINT_URL": at})
    elsewhere.park(Delivery("0" * 32, "shop", None, {}, b"{}", datetime.now(UTC), "c"))
    assert len(carried(queue)) == 1
