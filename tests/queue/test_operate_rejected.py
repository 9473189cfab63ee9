"""rejected, on a real database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from psycopg.types.json import Jsonb
from tidemill.db import Database
from tidemill.rejections import MOST_REASONS, OTHER, Rejections
from tidemill.telemetry import Log
from tidemill.wire import Connection

from tests.queue.operating import operator

HOUR = datetime(2026, 4, 28, 10, tzinfo=UTC)
SAMPLE = {"status": 401, "method": "POST", "path": "/hooks/shop"}


def add(connection: Connection, source: str = "shop", reason: str = "no", hour: datetime = HOUR, count: int = 1) -> None:
    connection.execute(
        "insert into rejections (source, reason, hour, count, last_at, sample) values (%s, %s, %s, %s, %s, %s)",
        (source, reason, hour, count, hour + timedelta(minutes=30), Jsonb(SAMPLE)),
    )


def rejected(url: str, **fields: Any) -> dict[str, Any]:
    return operator(url).run({"command": "rejected", **fields})


def reasons(answer: dict[str, Any]) -> list[str]:
    return [one["reason"] for one in answer["rejected"]]


def test_rejected_lists_counts_by_source_reason_and_hour(database_url: str, connection: Connection) -> None:
    add(connection, count=7)
    answer = rejected(database_url)
    [listed] = answer["rejected"]
    assert datetime.fromisoformat(listed.pop("hour")) == HOUR
    assert datetime.fromisoformat(listed.pop("last_at")) == HOUR + timedelta(minutes=30)
    assert listed == {"source": "shop", "reason": "no", "count": 7, "sample": SAMPLE}
    assert (answer["ok"], answer["after"]) == (True, None)


def test_where_nothing_was_refused_nothing_is_listed(database_url: str) -> None:
    assert rejected(database_url) == {"ok": True, "rejected": [], "after": None}


def test_the_pages_of_rejected_hold_each_count_once_the_latest_hour_first(database_url: str, connection: Connection) -> None:
    # Three in the very same hour: the cursor must tell them apart.
    for number, hours in enumerate((0, 1, 1, 1, 2)):
        add(connection, reason=str(number), hour=HOUR + timedelta(hours=hours))
    found: list[str] = []
    after = None
    while True:
        answer = rejected(database_url, limit=2, after=after)
        found += reasons(answer)
        if (after := answer["after"]) is None:
            break
    assert found == ["4", "3", "2", "1", "0"]


def test_a_page_is_twenty_unless_said_and_at_most_five_hundred(database_url: str, connection: Connection) -> None:
    for number in range(502):
        add(connection, reason=str(number))
    assert [len(reasons(rejected(database_url, limit=limit))) for limit in (None, 1_000_000)] == [20, 500]


def test_rejected_takes_a_source_and_a_time(database_url: str, connection: Connection) -> None:
    add(connection, reason="wanted")
    add(connection, reason="old", hour=HOUR - timedelta(hours=1))
    add(connection, "other", reason="of another")
    assert reasons(rejected(database_url, source="shop", since="2026-04-28T10:30:00Z")) == ["wanted"]
    assert reasons(rejected(database_url, source="shop", since="2026-04-28T10:30:01Z")) == []
    assert reasons(rejected(database_url, since="2026-04-28T09:30:00Z")) == ["of another", "wanted", "old"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("source", 5), ("source", ""), ("since", "yesterday"), ("limit", 0), ("limit", "5"), ("after", "%%"), ("until", "1h")],
)
def test_a_field_that_makes_no_sense_is_named(database_url: str, field: str, value: object) -> None:
    """B75."""
    answer = rejected(database_url, **{field: value})
    assert (answer["error"]["code"], answer["error"]["field"]) == ("invalid", field)


def test_looking_at_what_was_refused_is_no_operation(database_url: str, connection: Connection) -> None:
    rejected(database_url, by="ann")
    assert connection.execute("select count(*) from operations").fetchone() == (0,)


def test_a_source_has_so_many_reasons_in_an_hour_and_the_rest_is_counted_as_one(
    database: Database, connection: Connection
) -> None:
    """However many containers there are, and whatever reasons a verification of the user's own gives."""
    for container in range(3):
        rejections = Rejections(database, Log(), clock=iter(range(0, 10_000, 10)).__next__)
        for number in range(30):
            rejections.note({}, "shop", 401, f"{container} does not know {number}")
        rejections.note({}, "other", 401, "no")
    rows = connection.execute("select source, count(*), sum(count) from rejections group by source order by 1").fetchall()
    assert rows == [("other", 1, 3), ("shop", MOST_REASONS + 1, 90)]
    last = connection.execute("select count from rejections where reason = %s", (OTHER,)).fetchone()
    assert last == (90 - MOST_REASONS,)


def test_a_reason_that_is_known_is_still_counted_as_itself_when_there_is_no_room_for_another(
    database: Database, connection: Connection
) -> None:
    rejections = Rejections(database, Log(), clock=iter(range(0, 10_000, 10)).__next__)
    for number in [*range(MOST_REASONS), 3, MOST_REASONS, 3]:
        rejections.note({}, "shop", 401, str(number))
    counts = dict(connection.execute("select reason, count from rejections where count > 1 or reason = %s", (OTHER,)))
    assert counts == {"3": 3, OTHER: 1}


def test_what_waits_to_be_written_is_bounded_too(connection: Connection, database: Database) -> None:
    now = 0.0
    rejections = Rejections(database, Log(), clock=lambda: now)
    for number in range(10_000):
        rejections.note({}, "shop", 401, str(number))
    for _ in range(10):
        now += 1000
        rejections.note({}, "shop", 401, OTHER)
    assert connection.execute("select count(*), sum(count) from rejections").fetchone() == (MOST_REASONS + 1, 10_010)
