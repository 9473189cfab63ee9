"""functions/intake while the database is away: what is genuine goes into a queue, and 202 still means it is not lost."""

from __future__ import annotations

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from tidemill.db import Database
from tidemill.park import Parking
from tidemill.wire import Connection

from local.postgres import Postgres
from tests import logins
from tests.functions.conftest import Queue
from tests.functions.intake.conftest import Call, delivery, log_line, metrics, rows, v2
from tests.functions.intake.direct import FaultyDatabase, intake
from tests.functions.intake.parking.world import ENVIRON, World, carried, reported_by
from tests.functions.intake.sources import SECRETS


def test_an_event_is_taken_while_the_database_is_away(world: World, queue: Queue, connection: Connection) -> None:
    world.take_away()
    answer = world.post(delivery(b'{"orders": [1], "a": "\xff"}', "d", X_Correlation_Id="c-1", Cookie="s=1", Accept="*/*"))
    assert (answer.status, answer.body) == (202, {"parked": True})
    [parked] = carried(queue)
    assert answer.headers["Location"] == f"/events/p1800000000-{parked.token}"
    assert (parked.source, parked.dedup_key, parked.correlation_id) == ("shop", "d", "c-1")
    assert (parked.body, parked.received_at.timestamp()) == (b'{"orders": [1], "a": "\xff"}', world.time)
    assert parked.headers == {
        "x-shop-signature": "***", "x-shop-delivery": "d", "x-correlation-id": "c-1", "cookie": "***", "accept": "*/*"
    }  # fmt: skip
    assert rows(connection, "id", "events") == []


def test_no_secret_is_parked_or_said(world: World, queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    world.take_away()
    event = delivery({"orders": [1]}, "d", X_Api_Key="key-of-mine", X_Note=f"it is {SECRETS['SHOP_WEBHOOK_SECRET']}")
    assert world.post(event).status == 202
    [message] = queue.receive()
    written = capsys.readouterr().out
    for secret in ("key-of-mine", SECRETS["SHOP_WEBHOOK_SECRET"], event["headers"]["x-shop-signature"]):
        assert secret not in message["Body"] and secret not in written
    assert log_line(written, "parked")["reason"] == "OperationalError: connection refused"
    assert metrics(written) == [("EventsParked", "shop")]


def test_what_is_forged_is_refused_and_not_parked(world: World, queue: Queue) -> None:
    world.take_away()
    forged = delivery({})
    forged["body"] = base64.b64encode(b"another").decode()
    assert world.post(forged).status == 401
    assert carried(queue) == []


def test_while_the_database_is_known_to_be_away_nobody_waits_for_it(world: World, queue: Queue) -> None:
    """A connect may take seconds until it fails; it is tried again after a while."""
    world.take_away()
    for _ in range(3):
        assert world.post(delivery({})).body == {"parked": True}
    assert world.connects == 1
    world.time += 4.9
    assert world.post(delivery({})).body == {"parked": True}
    assert world.connects == 1
    world.time += 0.2
    assert world.post(delivery({})).body == {"parked": True}
    assert world.connects == 2
    world.away, world.time = False, world.time + 6
    assert world.post(delivery({})).body["jobs"] == 0
    assert len(carried(queue)) == 5


def test_the_status_address_of_a_parked_event_works_once_it_is_stored(world: World, queue: Queue) -> None:
    world.take_away()
    place = world.post(delivery({"orders": [1]}, "d")).headers["Location"]
    assert world.post(v2(place, method="GET")).status == 503
    world.away = False
    waiting = world.post(v2(place, method="GET"))
    assert (waiting.status, waiting.body, waiting.headers["Retry-After"]) == (202, {"parked": True}, "10")
    assert world.absorb() == []
    stored = world.post(v2(place, method="GET"))
    assert (stored.status, [job["kind"] for job in stored.body["jobs"]]) == (200, ["order"])
    assert stored.body["received_at"] == "2027-01-15T08:00:00.250000+00:00"


@pytest.mark.parametrize(
    "ticket", [f"p1-{'0' * 32}", f"p1800000000-{'0' * 31}", "p1800000000", f"p-{'0' * 32}", f"p1800000000-{'0' * 32}%00"]
)
def test_a_ticket_that_no_queue_can_still_have_is_none(world: World, ticket: str) -> None:
    assert world.post(v2(f"/events/{ticket}", method="GET")).status == 404


def test_jobs_that_the_database_refuses_by_a_rule_are_a_route_error_and_not_parked(
    world: World, queue: Queue, connection: Connection
) -> None:
    connection.execute("alter table jobs add constraint few check (kind <> 'limited')")
    try:
        assert world.post(delivery({"options": {}}, "d")).body["jobs"] == 0
    finally:
        connection.execute("alter table jobs drop constraint few")
    assert carried(queue) == []


def test_a_database_that_refuses_for_another_reason_is_no_loss(world: World, queue: Queue, connection: Connection) -> None:
    """A migration that has not run, a right that is missing: it is stored when that is mended."""
    connection.execute("alter table events rename column route_error to other")
    try:
        assert world.post(delivery({"orders": [1]}, "d")).body == {"parked": True}
    finally:
        connection.execute("alter table events rename column other to route_error")
    assert (world.absorb(), rows(connection, "dedup_key", "events")) == ([], [("d",)])


@pytest.mark.parametrize("key", ["d", None])
def test_what_was_stored_without_an_answer_is_parked_and_stays_one_event(
    world: World, connection: Connection, key: str | None
) -> None:
    """B79: it was committed, and nobody knows; the token tells. It is not tried again, which could take too long."""
    lost = FaultyDatabase(world.url, "receive", after=True)
    answer = world.make_intake(lost).handle(delivery({"payload": 1}, key), None)
    assert (answer["statusCode"], json.loads(answer["body"])) == (202, {"parked": True})
    assert len(rows(connection, "id", "events")) == 1
    assert world.absorb() == []
    [(event_id, redeliveries)] = rows(connection, "id, redeliveries", "events")
    assert (redeliveries, len(rows(connection, "id", "jobs"))) == (0, 1)
    assert world.post(v2(answer["headers"]["Location"], method="GET")).body["id"] == event_id


def test_a_database_that_is_away_while_a_route_runs_is_no_fault_of_the_route(world: World, connection: Connection) -> None:
    one = world.make_intake(FaultyDatabase(world.url, "event_number"))
    assert json.loads(one.handle(delivery({"id": True}, "d"), None)["body"]) == {"parked": True}
    assert world.absorb() == []
    [(event_id, fault)] = rows(connection, "id, route_error", "events")
    assert (fault, rows(connection, "payload", "jobs")) == (None, [({"event": event_id},)])


def test_a_large_body_is_parked_in_parts(world: World, queue: Queue, connection: Connection) -> None:
    body = bytes(range(256)) * 4096
    world.take_away()
    assert world.post(delivery(body, "d")).body == {"parked": True}
    world.away = False
    messages = queue.receive()
    assert [len(one["Body"]) <= 1024 * 1024 for one in messages] == [True] * 3
    queue.client.purge_queue(QueueUrl=queue.url)
    function = world.absorber()
    for one in (messages[2], messages[0], messages[2], messages[1]):
        record = {"messageId": one["MessageId"], "body": one["Body"]}
        assert reported_by(function.handle({"Records": [record]}, None)) == []
    assert rows(connection, "body", "events") == [(body,)]
    assert rows(connection, "id", "parked_parts") == []


def test_the_function_parks_where_the_settings_name_a_queue(
    call: Call, environment: pytest.MonkeyPatch, queue: Queue, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.setenv("PARKING_QUEUE_URL", queue.url)
    environment.setenv("DATABASE_URL", "postgresql://tide:hush-hush@127.0.0.1:1/none")
    assert call(delivery({"orders": [1]}, "d")).body == {"parked": True}
    assert [one.dedup_key for one in carried(queue)] == ["d"]
    assert "hush-hush" not in capsys.readouterr().out


def test_a_statement_that_hangs_is_left_and_its_delivery_parked(
    environment: pytest.MonkeyPatch, call: Call, queue: Queue, connection: Connection, database_url: str
) -> None:
    """Behind a proxy whose database is away a connect succeeds, and the statement waits; so it does behind a lock. It is
    ended in the server too, or a pile of them would wait there."""
    environment.setenv("PARKING_QUEUE_URL", queue.url)
    assert call(delivery({})).body["jobs"] == 0
    with psycopg.connect(database_url) as other:
        other.execute("lock table events in access exclusive mode")
        assert call(delivery({"orders": [1]})).body == {"parked": True}
        waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        for _ in range(500):
            if other.execute(waiting).fetchone() == (0,):
                break
            other.execute("select pg_sleep(0.01)")
        else:
            raise AssertionError("it still waits")
    assert len(rows(connection, "id", "events")) == 1


@pytest.mark.parametrize("parks", [False, True])
def test_overload_stores_nothing_by_halves(
    postgres: Postgres, database_url: str, connection: Connection, queue: Queue, parks: bool
) -> None:
    """B80: 20 containers where the server takes three connections. Without a queue their senders come again."""
    with logins.login(postgres, database_url) as login:
        url = login.url("a-password")
        login.admin.execute(f"alter role {login.name} connection limit 3")  # type: ignore[arg-type]
        databases = [Database(url) for _ in range(20)]
        containers = [intake(one, parking=Parking(queue.url, ENVIRON) if parks else None) for one in databases]

        def post(number: int) -> dict[str, Any]:
            answer: dict[str, Any] = containers[number].handle(delivery({"orders": [number]}, str(number)), None)
            return answer

        with ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(post, range(20)))
        for database in databases:
            database.close()
    stored = [one for one in answers if one["statusCode"] == 202 and "jobs" in json.loads(one["body"])]
    others = [one for one in answers if one not in stored]
    assert len(rows(connection, "id", "events")) == len(rows(connection, "id", "jobs")) == len(stored) >= 3
    assert {one["statusCode"] for one in others} == ({202} if parks else {503})
    assert len(carried(queue)) == (len(others) if parks else 0)
