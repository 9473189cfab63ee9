"""functions/intake: a delivery is one event with one set of jobs, however often and from how many sides it comes."""

from __future__ import annotations

import json
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from tidemill.db import Database
from tidemill.wire import Connection

from tests.functions.intake.conftest import Call, MakeEvent, delivery, log_line, metrics, rows
from tests.functions.intake.direct import intake
from tests.functions.intake.sources import SECRETS


def update(body: object, make: MakeEvent) -> dict[str, Any]:
    """A delivery whose id stands in its body."""
    return make("/hooks/bot", json.dumps(body).encode(), {"X-Bot-Token": SECRETS["BOT_WEBHOOK_SECRET"]})


def test_one_key_of_two_sources_is_two_events(call: Call, make: MakeEvent, connection: Connection) -> None:
    """B28."""
    answers = [call(delivery({"orders": [number]}, "d", source, make)) for number, source in enumerate(("shop", "other"))]
    assert [answer.body["jobs"] for answer in answers] == [1, 1]
    assert rows(connection, "source", "events") == [("shop",), ("other",)]


def test_one_key_with_another_body_is_a_duplicate_and_a_mismatch(
    call: Call, make: MakeEvent, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    """B33."""
    first = call(delivery({"orders": [1]}, "d", make=make))
    capsys.readouterr()
    second = call(delivery({"orders": [2]}, "d", make=make))
    assert second.body == {"id": first.body["id"], "duplicate": True}
    assert rows(connection, "body, redeliveries, mismatches", "events") == [(b'{"orders": [1]}', 1, 1)]
    assert rows(connection, "key", "jobs") == [("1",)]
    written = capsys.readouterr().out
    assert log_line(written, "duplicate")["mismatch"] is True
    assert log_line(written, "duplicate")["level"] == "WARNING"
    assert metrics(written) == [("EventsDuplicate", "shop")]


@pytest.mark.parametrize("key", [None, ""])
def test_deliveries_without_a_key_never_merge(call: Call, make: MakeEvent, connection: Connection, key: str | None) -> None:
    """B30, B31: not even where they are equal."""
    ids = {call(delivery({"payload": 1}, key, make=make)).body["id"] for _ in range(2)}
    assert len(ids) == 2
    assert rows(connection, "dedup_key", "events") == [(None,), (None,)]
    assert len(rows(connection, "id", "jobs")) == 2


@pytest.mark.parametrize(
    ("one", "two", "keys"),
    [
        (42, "42", ["42"]),
        (0, "0", ["0"]),
        (1, True, ["1", None]),
        (0, False, ["0", None]),
        (None, None, [None, None]),
        ("", "", [None, None]),
        ("None", None, ["None", None]),
        ([1], [1], [None, None]),
    ],
)
def test_which_ids_in_a_body_are_one(
    call: Call, make: MakeEvent, connection: Connection, one: Any, two: Any, keys: list[str | None]
) -> None:
    """B30."""
    for identity in (one, two):
        assert call(update({"update_id": identity}, make)).status == 202
    assert rows(connection, "dedup_key", "events") == [(key,) for key in keys]


def test_a_long_random_key_is_a_key(call: Call, make: MakeEvent, connection: Connection) -> None:
    """B32: a repetitive one would be compressed, and prove nothing."""
    key = secrets.token_hex(3000)
    assert [call(delivery({}, key, make=make)).body.get("duplicate") for _ in range(2)] == [None, True]
    assert rows(connection, "length(dedup_key)", "events") == [(64,)]
    assert call(update({"update_id": secrets.token_hex(3000), "payload": 1}, make)).body["jobs"] == 1


def test_a_job_whose_key_is_held_is_not_made_again(call: Call, connection: Connection) -> None:
    call(delivery({"orders": [1]}, "d1"))
    assert call(delivery({"orders": [1, 2, 2]}, "d2")).body["jobs"] == 1
    assert rows(connection, "key", "jobs") == [("1",), ("2",)]


def test_the_options_of_a_job_are_stored(call: Call, connection: Connection) -> None:
    options = {"payload": [1], "key": "k", "delay": 3600, "max_attempts": 3, "tenant": "t", "priority": -5}
    call(delivery({"options": options}))
    stored = "payload, key, extract(epoch from run_at - created_at)::float8, max_attempts, tenant, priority, limit_name"
    assert rows(connection, stored, "jobs") == [([1], "k", 3600, 3, "t", -5, "narrow")]


def test_a_route_that_asks_for_the_id_of_its_event_gets_it(call: Call, connection: Connection) -> None:
    answers = [call(delivery({"id": True}, key)) for key in ("d1", "d1", "d2")]
    ids = [answers[0].body["id"], answers[2].body["id"]]
    assert answers[1].body == {"id": ids[0], "duplicate": True}
    assert rows(connection, "event_id, key, payload", "jobs") == [(one, f"event:{one}", {"event": one}) for one in ids]
    later = call(delivery({}))
    assert later.body["id"] > ids[1]


def test_an_event_is_received_when_its_container_received_it(database_url: str, connection: Connection) -> None:
    answer = intake(Database(database_url), now=lambda: 1_800_000_000.25).handle(delivery({}), None)
    assert answer["statusCode"] == 202
    assert rows(connection, "received_at", "events") == [(datetime.fromtimestamp(1_800_000_000.25, UTC),)]


def test_twenty_clients_with_one_delivery_make_one_event(database_url: str, make: MakeEvent, connection: Connection) -> None:
    """B33."""
    clients = [Database(database_url) for _ in range(20)]
    together = threading.Barrier(20)

    def post(database: Database) -> dict[str, Any]:
        database.connection()
        together.wait(30)
        answer = intake(database).handle(delivery({"orders": [1, 2], "payload": 3}, "d", make=make), None)
        assert answer["statusCode"] == 202
        body: dict[str, Any] = json.loads(answer["body"])
        return body

    with ThreadPoolExecutor(20) as pool:
        bodies = list(pool.map(post, clients))
    for client in clients:
        client.close()
    ((event_id, redeliveries),) = rows(connection, "id, redeliveries", "events")
    assert sorted(bodies, key=str) == [{"id": event_id, "duplicate": True}] * 19 + [{"id": event_id, "jobs": 3}]
    assert redeliveries == 19
    assert len(rows(connection, "id", "jobs")) == 3


@pytest.mark.parametrize("first_commits", [True, False])
def test_who_waits_for_another_with_its_key_takes_over_where_that_one_rolls_back(
    database_url: str, make: MakeEvent, connection: Connection, first_commits: bool
) -> None:
    """B33."""
    database = Database(database_url)
    with psycopg.connect(database_url) as first, ThreadPoolExecutor(1) as pool:
        first.execute("insert into events (source, dedup_key, body, token) values ('shop', 'd', '{}', 'first')")
        waiting = pool.submit(intake(database).handle, delivery({"orders": [1]}, "d", make=make), None)
        wait_until_one_is_blocked(connection)
        (first.commit if first_commits else first.rollback)()
        body = json.loads(waiting.result(30)["body"])
    database.close()
    assert ("duplicate" in body, len(rows(connection, "id", "jobs"))) == ((True, 0) if first_commits else (False, 1))
    assert rows(connection, "id, token = 'first'", "events") == [(body["id"], first_commits)]


def wait_until_one_is_blocked(connection: Connection) -> None:
    blocked = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    for _ in range(3000):
        if connection.execute(blocked).fetchall():
            return
        connection.execute("select pg_sleep(0.01)")
    raise AssertionError("nobody waits")
