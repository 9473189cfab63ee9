"""pause and resume, on a real database."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from tidemill.wire import Connection

from tests.queue.operating import one, operations, operator


@pytest.fixture
def telegram(connection: Connection) -> str:
    connection.execute("insert into limits (name, size) values ('telegram', 5)")
    return "telegram"


def paused_for(connection: Connection) -> timedelta:
    found = one(connection, "select paused_until - now() from limits where paused_until is not null")
    assert isinstance(found, timedelta)
    return found


def test_a_pause_lasts_its_seconds(database_url: str, connection: Connection, telegram: str) -> None:
    answer = operator(database_url).run({"command": "pause", "limit": telegram, "for": 600, "by": "ann"})
    assert timedelta(seconds=590) < paused_for(connection) <= timedelta(seconds=600)
    until = one(connection, "select paused_until from limits")
    assert (answer["ok"], answer["limit"], datetime.fromisoformat(answer["paused_until"])) == (True, telegram, until)
    [(by, command, arguments, outcome)] = operations(connection)
    assert (by, command, arguments) == ("ann", "pause", {"limit": telegram, "for": 600})
    assert outcome == {"limit": telegram, "paused_until": answer["paused_until"]}


def test_a_pause_without_seconds_lasts_until_it_is_resumed(database_url: str, connection: Connection, telegram: str) -> None:
    operator(database_url).run({"command": "pause", "limit": telegram})
    assert paused_for(connection) > timedelta(days=365 * 100)
    answer = operator(database_url).run({"command": "resume", "limit": telegram})
    assert answer["ok"] and answer["was_paused_until"].startswith("9999-12-31")
    assert one(connection, "select paused_until from limits") is None
    assert [command for _, command, _, _ in operations(connection)] == ["pause", "resume"]


def test_a_longer_pause_stays(database_url: str, connection: Connection, telegram: str) -> None:
    """What the other side asked for is never undercut."""
    connection.execute("update limits set paused_until = now() + interval '1 hour'")
    operator(database_url).run({"command": "pause", "limit": telegram, "for": 5})
    assert paused_for(connection) > timedelta(minutes=59)


def test_a_limit_that_is_not_paused_can_be_resumed(database_url: str, connection: Connection, telegram: str) -> None:
    connection.execute("update limits set paused_until = now() - interval '1 hour'")
    answer = operator(database_url).run({"command": "resume", "limit": telegram})
    assert answer == {"ok": True, "limit": telegram, "was_paused_until": None}


@pytest.mark.parametrize("command", ["pause", "resume"])
def test_an_unknown_limit_is_not_found(database_url: str, connection: Connection, telegram: str, command: str) -> None:
    error = operator(database_url).run({"command": command, "limit": "smtp"})["error"]
    assert (error["code"], error["field"]) == ("not_found", "limit")
    assert operations(connection) == []


def test_a_limit_that_no_drain_has_seen_yet_can_be_paused(database_url: str, connection: Connection) -> None:
    assert operator(database_url).run({"command": "pause", "limit": "telegram", "for": 600})["ok"]
    assert one(connection, "select size from limits") == 5
    assert one(connection, "select count(*) from places") == 5


def test_the_size_of_a_known_limit_is_left_alone(database_url: str, connection: Connection) -> None:
    """An operator's checkout may be older than what is deployed."""
    connection.execute("insert into limits (name, size) values ('telegram', 9)")
    operator(database_url).run({"command": "pause", "limit": "telegram"})
    assert one(connection, "select size from limits") == 9


def test_a_resumed_limit_asks_for_a_drain(database_url: str, telegram: str) -> None:
    woken: list[int] = []
    operating = operator(database_url, wake=lambda: woken.append(1))
    operating.run({"command": "pause", "limit": telegram, "for": 5})
    assert woken == []
    operating.run({"command": "resume", "limit": telegram})
    assert woken == [1]
