"""schedules and sources: what is configured, and how it stands."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from tidemill.schedule import Schedule
from tidemill.source import Source
from tidemill.verify import secret_header
from tidemill.wire import Connection

from tests.queue.operating import SECRET, operator, shop
from tests.queue.sweeping import DAY, a_time, clock, daily, known, minutely


def schedules(url: str, *loaded: Schedule) -> list[dict[str, Any]]:
    answer = operator(url, schedules=loaded).run({"command": "schedules"})
    found: list[dict[str, Any]] = answer["schedules"]
    return found


def test_a_schedule_shows_its_slots_on_the_clock_of_its_zone(database_url: str, connection: Connection) -> None:
    digest = daily("09:00", tz="Europe/Rome")
    last = digest.last_slot(clock(connection))
    known(connection, digest, last)
    connection.execute("update schedules set last_enqueued_at = '2027-04-30T07:00:02Z', last_error = 'no room'")
    [shown] = schedules(database_url, digest)
    assert shown["last_slot"] == digest.text(last)
    assert "T09:00:00+0" in shown["last_slot"]
    assert shown["next_slot"] == digest.text(digest.next_slot(clock(connection)))
    assert (shown["name"], shown["kind"], shown["rule"]) == ("digest", "digest", "daily('09:00', tz='Europe/Rome')")
    assert (shown["tz"], shown["overdue"], shown["last_error"]) == ("Europe/Rome", False, "no room")
    assert datetime.fromisoformat(shown["last_enqueued_at"]) == datetime.fromisoformat("2027-04-30T07:00:02Z")


def test_a_schedule_that_nobody_runs_is_overdue(database_url: str, connection: Connection) -> None:
    late, fresh = minutely("late"), minutely("fresh")
    known(connection, late, clock(connection, -timedelta(minutes=5)))
    known(connection, fresh, clock(connection))
    assert {one["name"]: one["overdue"] for one in schedules(database_url, late, fresh)} == {"late": True, "fresh": False}


def test_a_schedule_whose_rule_has_just_changed_is_not_overdue(database_url: str, connection: Connection) -> None:
    known(connection, daily("09:00"), clock(connection, -DAY))
    [shown] = schedules(database_url, minutely("digest", "digest"))
    assert (shown["rule"], shown["overdue"]) == ("every(minutes=1)", False)


def test_a_schedule_that_no_tick_has_seen_yet_has_a_next_slot(database_url: str, connection: Connection) -> None:
    [shown] = schedules(database_url, daily(a_time(connection, timedelta(hours=1))))
    assert shown["next_slot"] is not None
    assert (shown["last_slot"], shown["last_enqueued_at"], shown["overdue"]) == (None, None, False)


def test_a_schedule_that_is_no_longer_declared_is_shown_as_it_was(database_url: str, connection: Connection) -> None:
    last = clock(connection, -DAY)
    known(connection, daily("09:00"), last)
    [shown] = schedules(database_url)
    assert datetime.fromisoformat(shown["last_slot"]) == last
    assert (shown["tz"], shown["next_slot"], shown["overdue"]) == (None, None, False)


def test_a_source_shows_what_it_needs_and_never_its_value() -> None:
    """No database is asked."""
    ready = Source("shop", verify=secret_header("X-Secret", secret="SHOP_WEBHOOK_SECRET"))
    waiting = Source("market", verify=secret_header("X-Secret", secret="MARKET_WEBHOOK_SECRET"))
    settings = {"PUBLIC_URL": "https://hooks.example.com/"}
    answer = operator("postgresql://nobody@127.0.0.1:1/none", ready, waiting, settings=settings).run({"command": "sources"})
    market, found = answer["sources"]
    assert (found["name"], found["url"]) == ("shop", "https://hooks.example.com/hooks/shop")
    assert (found["ready"], found["secrets"]) == (True, [{"setting": "SHOP_WEBHOOK_SECRET", "set": True}])
    assert (market["ready"], market["secrets"]) == (False, [{"setting": "MARKET_WEBHOOK_SECRET", "set": False}])
    assert SECRET not in json.dumps(answer)


def test_without_a_public_address_a_source_has_none() -> None:
    [found] = operator("postgresql://nobody@127.0.0.1:1/none", shop()).run({"command": "sources"})["sources"]
    assert (found["url"], found["ready"], found["secrets"]) == (None, True, [])
