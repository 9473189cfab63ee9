"""What tests of slots are written with: schedules near the present, how they stand, and sweeps of a database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tidemill import rules
from tidemill.db import Database
from tidemill.schedule import Schedule
from tidemill.sweep import Sweep
from tidemill.telemetry import Log
from tidemill.wire import Connection

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)

Sweeper = Callable[..., Sweep]


def minutely(name: str = "beat", kind: str = "beat", catch_up: int = 1) -> Schedule:
    return Schedule(name, kind, "every(minutes=1)", rules.Every(1), catch_up)


def daily(at: str, name: str = "digest", kind: str = "digest", tz: str = "UTC", catch_up: int = 1) -> Schedule:
    return Schedule(name, kind, f"daily({at!r}, tz={tz!r})", rules.daily(at, rules.zone(tz)), catch_up)


def clock(connection: Connection, shift: timedelta = timedelta(0)) -> datetime:
    row = connection.execute("select now()").fetchone()
    assert row is not None
    return (row[0].astimezone(UTC) + shift).replace(second=0, microsecond=0)


def a_time(connection: Connection, shift: timedelta) -> str:
    """A time of day, so much from now."""
    return clock(connection, shift).strftime("%H:%M")


def known(connection: Connection, schedule: Schedule, done: datetime | None, first_seen: datetime | None = None) -> None:
    """Let a schedule be known, with its slots done up to `done`."""
    connection.execute(
        "insert into schedules (name, kind, rule, first_seen, last_slot) values (%s, %s, %s, %s, %s)",
        (schedule.name, schedule.kind, schedule.rule, first_seen or done, done),
    )


def slots(connection: Connection, kind: str) -> list[str]:
    return [str(row[0]) for row in connection.execute("select slot from jobs where kind = %s order by id", (kind,))]


def row(connection: Connection, name: str, column: str) -> Any:
    found = connection.execute(f"select {column} from schedules where name = %s", (name,)).fetchone()  # type: ignore[arg-type]
    assert found is not None
    return found[0]


def refuse(connection: Connection, kind: str, text: str = "no room for hunter2") -> None:
    """Let the database refuse jobs of a kind."""
    connection.execute("create function refuse() returns trigger language plpgsql as $$ begin raise '%', tg_argv[0]; end $$")
    connection.execute(
        f"create trigger refused before insert on jobs for each row when (new.kind = '{kind}')"  # type: ignore[arg-type]
        f" execute function refuse('{text}')"
    )


@pytest.fixture
def news() -> list[str]:
    """What people were told."""
    return []


@pytest.fixture
def sweep(database_url: str, news: list[str]) -> Iterator[Sweeper]:
    """`sweep(*schedules)` makes one, with a connection of its own."""
    databases: list[Database] = []

    def make(*schedules: Schedule, limits: dict[str, str] | None = None) -> Sweep:
        databases.append(Database(database_url))
        return Sweep(databases[-1], schedules, limits or {}, Log(), news.append, lambda text: text.replace("hunter2", "***"))

    yield make
    for database in databases:
        database.close()
