"""replay of many events, on a real database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tidemill.operate import replay
from tidemill.wire import Connection

from tests.queue.operating import add_event, body, operations, operator, shop

OLD = datetime(2026, 4, 28, tzinfo=UTC)


def test_a_bulk_replay_takes_those_that_were_not_routed(database_url: str, connection: Connection) -> None:
    """PEERS 20: only those without jobs, their order kept, with a count before."""
    routed = add_event(connection, body=body(1))
    lost = [add_event(connection, body=body(number), route_error="KeyError: 'orders'") for number in (2, 3)]
    broken = add_event(connection, body=b"no json", route_error="KeyError: 'orders'")
    gone = add_event(connection, "gone", route_error="KeyError: 'orders'")
    operating = operator(database_url, shop())
    command = {"command": "replay", "unrouted": True}
    dry = operating.run({**command, "dry_run": True})
    answer = operating.run({**command, "by": "ann"})
    assert (dry["matched"], dry["changed"], dry["jobs"]) == (4, 0, {"created": 4})
    assert (answer["matched"], answer["changed"], answer["jobs"]) == (4, 2, {"created": 4})
    assert answer["refused"] == dry["refused"]
    assert [(refused["id"], refused["code"]) for refused in answer["refused"]] == [(broken, "conflict"), (gone, "conflict")]
    assert "its route fails: " in answer["refused"][0]["message"]
    query = "select distinct event_id from jobs order by event_id"
    assert [number for (number,) in connection.execute(query)] == lost
    assert routed not in lost
    outcome = {name: answer[name] for name in ("matched", "changed", "refused", "jobs")}
    assert operations(connection) == [("ann", "replay", {"unrouted": True}, outcome)]


def test_a_bulk_replay_takes_a_source_and_a_span(database_url: str, connection: Connection) -> None:
    add_event(connection, body=body(1), received_at=OLD - timedelta(seconds=1))
    wanted = add_event(connection, body=body(2), received_at=OLD)
    add_event(connection, body=body(3), received_at=OLD + timedelta(hours=1))
    add_event(connection, "market", body=body(4), received_at=OLD)
    command = {"command": "replay", "source": "shop", "since": "2026-04-28T00:00:00Z", "until": "2026-04-28T01:00:00Z"}
    answer = operator(database_url, shop(), shop("market")).run(command)
    assert (answer["matched"], answer["changed"], answer["refused"]) == (1, 1, [])
    assert {number for (number,) in connection.execute("select event_id from jobs")} == {wanted}


def test_a_bulk_replay_goes_through_many_chunks(
    database_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "CHUNK", 3)
    for number in range(9):
        add_event(connection, body=body(number))
    operating = operator(database_url, shop())
    assert operating.run({"command": "replay", "source": "shop"})["jobs"] == {"created": 18}
    again = operating.run({"command": "replay", "source": "shop"})
    assert (again["matched"], again["changed"], again["jobs"]) == (9, 0, {"kept": 18})
