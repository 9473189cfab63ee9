"""functions/absorb: what was parked is stored once, however often, in whatever order, and to how many it comes."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg
import pytest
from tidemill import park
from tidemill.absorb import LONGEST_PAUSE
from tidemill.wire import Connection

from tests.functions.conftest import Queue
from tests.functions.intake.conftest import delivery, metrics, rows, v2, written_lines
from tests.functions.intake.parking.world import World, absorb, bodies, event, parked, reported_by
from tests.functions.intake.test_intake_once import wait_until_one_is_blocked


@pytest.mark.parametrize("key", ["d", None])
def test_a_message_that_comes_again_after_it_was_stored_makes_no_second_event(
    world: World, connection: Connection, key: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a dedup key the token of the delivery tells; it is no redelivery of the sender."""
    for _ in range(3):
        assert absorb(world, parked(1, {"payload": 1}, key)) == []
    assert rows(connection, "dedup_key, redeliveries, redelivered_at", "events") == [(key, 0, None)]
    assert len(rows(connection, "id", "jobs")) == 1
    assert (metrics(capsys.readouterr().out), world.woken) == ([("EventsAccepted", "shop")], 1)


@pytest.mark.parametrize("together", [True, False])
def test_one_dedup_key_is_one_event_and_each_ticket_leads_to_it(
    world: World, connection: Connection, together: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    several = [parked(number, {"payload": number > 1}, "d") for number in range(3)]
    for batch in [several] if together else [[one] for one in several]:
        assert absorb(world, *batch) == []
    [(event_id, redeliveries, mismatches)] = rows(connection, "id, redeliveries, mismatches", "events")
    assert (redeliveries, mismatches, len(rows(connection, "id", "jobs"))) == (2, 1, 1)
    assert sorted(metrics(capsys.readouterr().out)) == [("EventsAccepted", "shop"), *[("EventsDuplicate", "shop")] * 2]
    for number in range(3):
        assert world.post(v2(f"/events/p1800000000-{number:032x}", method="GET")).body["id"] == event_id


def test_what_the_intake_has_stored_meanwhile_is_a_duplicate(world: World, connection: Connection) -> None:
    assert world.post(delivery({"payload": 1}, "d")).body["jobs"] == 1
    assert absorb(world, parked(1, {"payload": 1}, "d")) == []
    assert world.post(delivery({"payload": 1}, "d")).body["duplicate"] is True
    assert rows(connection, "redeliveries", "events") == [(2,)]
    assert len(rows(connection, "id", "jobs")) == 1


def test_while_the_database_is_away_all_are_reported_and_come_again_later(
    world: World, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    world.away = True
    large = park.texts(parked(3, b"\xff" * 800_000))
    assert absorb(world, parked(1, {}), parked(2, {}), large[0]) == ["m2", "m0", "m1"]
    assert sorted(world.hidden) == ["r0", "r1", "r2"] and all(8 <= seconds <= 12 for seconds in world.hidden.values())
    assert absorb(world, parked(1, {}), receives=900) == ["m0"] and world.hidden["r0"] <= LONGEST_PAUSE
    assert {line["message"] for line in written_lines(capsys.readouterr().out)} == {"not absorbed yet"}
    world.away = False
    assert absorb(world, parked(1, {}), parked(2, {})) == []
    assert len(rows(connection, "id", "events")) == 2


def test_a_queue_that_cannot_hide_messages_changes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world.away = True
    function = world.absorber()
    assert function._parking is not None
    monkeypatch.undo()
    function._parking.hide = type(function._parking).hide.__get__(function._parking)  # type: ignore[method-assign]
    assert reported_by(function.handle(bodies(parked(1, {})), None)) == ["m0"]
    assert "messages could not be put off" in capsys.readouterr().out


def test_messages_that_are_reported_come_again_by_sqs(world: World, make_queue: Callable[..., Queue]) -> None:
    """With a real client: what is hidden is not received, and then it is."""
    queue = make_queue("eager", VisibilityTimeout="0")
    queue.client.send_message(QueueUrl=queue.url, MessageBody=park.texts(parked(1, {}))[0])
    world = World(world.url, queue)
    world.away = True
    function = world.absorber()
    function._parking = world._parking
    [message] = queue.receive(1)
    assert reported_by(function.handle(event([message]), None)) == [message["MessageId"]]
    assert queue.receive() == []
    world._parking.hide({message["ReceiptHandle"]: 0, **{f"r{number}": 0 for number in range(20)}})
    assert len(queue.receive(1)) == 1


def test_a_part_that_waits_for_the_others_is_done_with(world: World, connection: Connection) -> None:
    one, other = parked(1, b"\xff" * 800_000, "d"), parked(2, b"\xfe" * 800_000)
    first, *rest = park.texts(one)
    assert absorb(world, first, *park.texts(other), first) == []
    assert rows(connection, "body", "events") == [(other.body,)]
    assert rows(connection, "part", "parked_parts") == [(0,)]
    assert absorb(world, *reversed(rest)) == []
    assert rows(connection, "body", "events") == [(other.body,), (one.body,)]
    assert absorb(world, *park.texts(one)) == []
    assert absorb(world, first) == []
    assert (len(rows(connection, "id", "events")), rows(connection, "id", "parked_parts")) == (2, [])


def test_parts_that_come_to_two_at_once_are_one_event(world: World, connection: Connection) -> None:
    for number in range(5):
        texts = park.texts(parked(number, bytes([number]) * 800_000))
        together = Barrier(len(texts))

        def bring(text: str, together: Barrier = together) -> list[str]:
            function = world.absorber()
            together.wait(30)
            return reported_by(function.handle(bodies(text), None))

        with ThreadPoolExecutor(len(texts)) as pool:
            assert list(pool.map(bring, texts)) == [[]] * len(texts)
    assert rows(connection, "get_byte(body, 0)", "events") == [(number,) for number in range(5)]
    assert rows(connection, "id", "parked_parts") == []


def test_parts_that_make_no_delivery_are_malformed(world: World, connection: Connection) -> None:
    def piece(data: str, token: str) -> str:
        return json.dumps({"token": token * 32, "part": 0, "of": 1, "data": data})

    assert absorb(world, piece("junk", "1"), piece(piece("junk", "2"), "3")) == ["m0", "m1"]
    assert len(world.told) == 2


@pytest.mark.parametrize("key", ["d", None])
def test_messages_that_come_to_four_at_once_are_one_event_each(
    world: World, connection: Connection, key: str | None
) -> None:
    batch = bodies(*(parked(number, {"payload": number}, key and f"d{number}") for number in range(10)))
    functions = [world.absorber() for _ in range(4)]
    together = Barrier(4)

    def bring(function: Any) -> list[str]:
        together.wait(30)
        return reported_by(function.handle(batch, None))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(bring, functions)) == [[]] * 4
    assert rows(connection, "redeliveries", "events") == [(0,)] * 10
    assert len(rows(connection, "id", "jobs")) == 10


def test_who_comes_second_while_the_first_still_stores_knows_it_then(world: World, connection: Connection) -> None:
    """Its statement runs into the token, and then finds it."""
    with psycopg.connect(world.url) as first, ThreadPoolExecutor(1) as pool:
        first.execute("insert into events (source, body, token) values ('shop', '{}', %s)", (f"{1:032x}",))
        waiting = pool.submit(absorb, world, parked(1, {}), parked(2, {"orders": [2]}))
        wait_until_one_is_blocked(connection)
        first.commit()
        assert waiting.result(30) == []
    assert len(rows(connection, "id", "events")) == 2
    assert rows(connection, "key", "jobs") == [("2",)]
