"""functions/absorb: what was parked is stored by the rules of the intake, and costs nothing else where it is at fault."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemill import park
from tidemill.db import Database
from tidemill.model import Delivery
from tidemill.wire import Connection

from tests.functions.intake import sources
from tests.functions.intake.conftest import log_line, metrics, rows
from tests.functions.intake.parking.world import RECEIVED, World, absorb, bodies, parked

headers = st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3)


@given(
    st.builds(
        Delivery,
        token=st.just("0" * 32),
        source=st.text(max_size=9),
        dedup_key=st.none() | st.text(max_size=9),
        headers=headers,
        body=st.binary(),
        received_at=st.datetimes(timezones=st.just(UTC)),
        correlation_id=st.text(max_size=9),
    )
)
def test_what_is_read_is_what_was_parked(one: Delivery) -> None:
    [text] = park.texts(one)
    assert text.isascii() and park.read(text) == one


@pytest.mark.parametrize("size", [784_000, 787_000, 1024 * 1024, 6_000_000])
def test_no_message_is_larger_than_sqs_takes(size: int) -> None:
    """The first size goes in one, the second in parts; quotation marks in headers count twice in them."""
    one = parked(1, b"\xff" * size, headers={"x": '"' * 900})
    texts = park.texts(one)
    assert max(map(len, texts)) <= 1024 * 1024
    assert (len(texts) > 1) == (size > 786_000)
    pieces = [park.read(text) for text in texts]
    whole = "".join(piece.data if isinstance(piece, park.Part) else texts[0] for piece in pieces)
    assert park.read(whole) == one


def test_a_parked_event_is_stored_as_the_intake_would_have_stored_it(
    world: World, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    assert absorb(world, parked(1, {"orders": [7], "options": {"priority": 3}}, "d")) == []
    columns = "source, dedup_key, headers, body, received_at, correlation_id, route_error, redeliveries"
    assert rows(connection, columns, "events") == [
        ("shop", "d", {"accept": "*/*"}, b'{"orders": [7], "options": {"priority": 3}}', RECEIVED, "c-1", None, 0)
    ]
    [(event_id,)] = rows(connection, "id", "events")
    assert rows(connection, "kind, key, priority, limit_name, event_id, correlation_id", "jobs") == [
        ("limited", None, 3, "narrow", event_id, "c-1"), ("order", "7", 0, "", event_id, "c-1")
    ]  # fmt: skip
    assert world.woken == 1
    written = capsys.readouterr().out
    assert metrics(written) == [("EventsAccepted", "shop")]
    assert (log_line(written, "accepted")["jobs"], log_line(written, "accepted")["correlation_id"]) == (2, "c-1")


def test_keys_of_two_sources_and_no_key_at_all_are_apart_in_one_batch(world: World, connection: Connection) -> None:
    batch = [
        parked(1, {}, "d"),
        parked(2, {}, "d", "other"),
        parked(3, {}),
        parked(4, {}),
        parked(5, {}, "token " + "0" * 31),
    ]
    assert absorb(world, *batch) == []
    assert sorted(rows(connection, "source, dedup_key", "events"), key=str) == [
        ("other", "d"), ("shop", "d"), ("shop", "token " + "0" * 31), ("shop", None), ("shop", None)
    ]  # fmt: skip


def test_ten_events_are_one_statement(world: World, connection: Connection) -> None:
    sent: list[str] = []

    class Counting(Database):
        def execute(self, name: str, parameters: Any = None) -> Any:
            sent.append(name)
            return super().execute(name, parameters)

    function = world.absorber(Counting(world.url))
    assert function.handle(bodies(*(parked(n, {"orders": [n]}, str(n)) for n in range(10))), None)["batchItemFailures"] == []
    assert sent == ["absorb"]
    jobs = rows(connection, "key, event_id", "jobs")
    by_key = dict(rows(connection, "dedup_key, id", "events"))
    assert jobs == sorted(jobs) and dict(jobs) == by_key and len(jobs) == 10


def test_two_events_of_a_batch_with_one_job_key_make_one_job(world: World, connection: Connection) -> None:
    assert absorb(world, parked(1, {"orders": [1, 2]}, "a"), parked(2, {"orders": [2, 3]}, "b")) == []
    assert rows(connection, "key", "jobs") == [("1",), ("2",), ("3",)]


def test_a_route_that_raises_costs_only_its_own_jobs(world: World, connection: Connection) -> None:
    assert absorb(world, parked(1, {"raise": "no"}), parked(2, b"not JSON"), parked(3, {"orders": [3]})) == []
    faults = [fault for (fault,) in rows(connection, "route_error", "events")]
    assert [fault and fault.partition(":")[0] for fault in faults] == ["ValueError", "JSONDecodeError", None]
    assert rows(connection, "key", "jobs") == [("3",)]


def test_jobs_that_the_database_refuses_by_a_rule_cost_only_their_own_event(world: World, connection: Connection) -> None:
    connection.execute("alter table jobs add constraint few check (kind <> 'limited')")
    try:
        assert absorb(world, parked(1, {"orders": [1]}), parked(2, {"options": {}}), parked(3, {"orders": [3]})) == []
    finally:
        connection.execute("alter table jobs drop constraint few")
    faults = [fault for (fault,) in rows(connection, "route_error", "events")]
    assert [fault and fault.partition(":")[0] for fault in faults] == [None, "CheckViolation", None]
    assert rows(connection, "key", "jobs") == [("1",), ("3",)]


def test_an_event_of_a_source_that_is_gone_is_kept_for_a_replay(world: World, connection: Connection) -> None:
    assert absorb(world, parked(1, {}, source="gone")) == []
    assert rows(connection, "source, route_error", "events") == [("gone", "there is no source gone any more")]


def test_a_route_that_asks_for_the_id_of_its_event_gets_it(world: World, connection: Connection) -> None:
    assert absorb(world, parked(1, {"id": True}), parked(2, {"id": True})) == []
    ids = [one for (one,) in rows(connection, "id", "events")]
    assert rows(connection, "payload, event_id", "jobs") == [({"event": one}, one) for one in ids]


def test_a_malformed_entry_is_reported_and_told_and_the_others_are_stored(world: World, connection: Connection) -> None:
    [good] = park.texts(parked(1, {}))
    fields = json.loads(good)
    wrong = ["", "not JSON", "[1]", "1", "NaN", "[" * 300, json.dumps({**fields, "token": "short"})]
    wrong += [json.dumps({name: value for name, value in fields.items() if name != left_out}) for left_out in
              ("token", "source", "headers", "body", "received_at", "correlation_id")]  # fmt: skip
    wrong += [json.dumps({**fields, name: value}) for name, value in
              (("body", "*"), ("received_at", "2027-01-15T08:00:00"), ("received_at", "soon"), ("dedup_key", 7),
               ("headers", []), ("part", 0), ("part", True))]  # fmt: skip
    assert absorb(world, *wrong[:9], good) == [f"m{number}" for number in range(9)]
    assert absorb(world, *wrong[9:]) == [f"m{number}" for number in range(len(wrong) - 9)]
    assert len(rows(connection, "id", "events")) == 1
    assert len(world.told) == len(wrong) and "dead letters" in world.told[0]
    assert world.hidden == {}


def test_an_entry_that_may_kill_its_process_comes_after_the_others_and_alone(
    world: World, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def kill(event: Any) -> None:
        if event.body == b"kill":
            raise Killed

    monkeypatch.setattr(sources.shop, "routes", [kill])
    batch = bodies(parked(1, b"kill"), parked(2, {}), parked(3, {}))
    batch["Records"][0]["attributes"]["ApproximateReceiveCount"] = "4"
    with pytest.raises(Killed):
        world.absorber().handle(batch, None)
    assert len(rows(connection, "id", "events")) == 2


@pytest.fixture
def signals(connection: Connection) -> Iterator[None]:
    yield
    connection.execute("truncate signals")


def test_signals_of_a_parked_event_are_kept_and_wake(
    world: World, connection: Connection, monkeypatch: pytest.MonkeyPatch, signals: None
) -> None:
    from tidemill import Signal

    monkeypatch.setattr(sources.shop, "routes", [lambda event: [Signal(event.text, {"from": event.text})]])
    assert absorb(world, parked(1, b"a"), parked(2, b"b"), parked(3, b"a")) == []
    assert connection.execute("select name, payload from signals order by name").fetchall() == [
        ("a", {"from": "a"}), ("b", {"from": "b"})
    ]  # fmt: skip
    assert world.woken == 1


def test_a_function_without_records_answers(world: World) -> None:
    assert world.absorber().handle({}, None) == {"batchItemFailures": []}
