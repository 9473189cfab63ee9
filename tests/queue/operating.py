"""What the tests of the operator share: an operator on a test's database, and rows put straight into the tables."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from tidemill.db import Database
from tidemill.handlers import Handler
from tidemill.model import Accepted, Event, NewJob
from tidemill.operate import Operator
from tidemill.schedule import Schedule
from tidemill.settings import Settings
from tidemill.source import Source
from tidemill.telemetry import Log
from tidemill.wire import Connection

NOW = datetime(2027, 4, 30, 9, tzinfo=UTC)
SECRET = "hush-hush-hush"

HANDLERS = {
    "order.announce": Handler("order.announce", print, limit_name="telegram", limit_size=5),
    "order.total": Handler("order.total", print),
}
LIMITS = {"order.announce": "telegram"}


def operator(
    url: str,
    *sources: Source,
    wake: Callable[[], None] = lambda: None,
    schedules: Iterable[Schedule] = (),
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Operator:
    settings = Settings({"SHOP_WEBHOOK_SECRET": SECRET, **settings})
    by_name = {source.name: source for source in sources}
    log = Log(settings.redact)
    return Operator(
        Database(url), HANDLERS, by_name, LIMITS, settings, log, now=lambda: NOW, wake=wake, schedules=schedules
    )


def add_job(connection: Connection, kind: str = "order.total", status: str = "pending", **columns: Any) -> int:
    """A job as it would stand in this status."""
    values: dict[str, Any] = {"kind": kind, "status": status, **columns}
    if status in ("done", "failed", "discarded"):
        values.setdefault("finished_at", datetime.now(UTC))
    if status == "failed":
        values = {
            "attempts": 8,
            "error_class": "ValueError",
            "last_error": "no number",
            "worker": "w1",
            "claim_id": 7,
        } | values
    if status == "running":
        values = {"attempts": 1, "locked_until": datetime.now(UTC), "worker": "w1", "claim_id": 7} | values
    return _insert(connection, "jobs", values)


def add_event(connection: Connection, source: str = "shop", body: bytes = b"{}", **columns: Any) -> int:
    return _insert(connection, "events", {"source": source, "body": body, "correlation_id": "c-1", **columns})


def shop(name: str = "shop") -> Source:
    """Its route makes of {"orders": [...]} one keyed announcement an order, and one total without a key."""
    source = Source(name, verify=lambda request, settings, now: Accepted())

    @source.route
    def orders(event: Event) -> Iterable[NewJob]:
        for order in event.json["orders"]:
            yield NewJob("order.announce", {"number": order}, key=order)
        yield NewJob("order.total", {"of": len(event.json["orders"])})

    return source


def body(*orders: int) -> bytes:
    return json.dumps({"orders": orders}).encode()


def one(connection: Connection, query: str, *parameters: Any) -> Any:
    """The first column of the only row, or the row where it has more."""
    rows = connection.execute(query, parameters).fetchall()  # type: ignore[call-overload]
    assert len(rows) == 1, rows
    return rows[0][0] if len(rows[0]) == 1 else rows[0]


def status_of(connection: Connection, job: int) -> Any:
    return one(connection, "select status from jobs where id = %s", job)


def operations(connection: Connection) -> list[tuple[Any, ...]]:
    return connection.execute("select by, command, arguments, outcome from operations order by id").fetchall()


def wait_for_blocked(connection: Connection, number: int) -> None:
    """Return once so many others wait for a lock in this database."""
    query = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    for _ in range(1000):
        if one(connection, query) >= number:
            return
        time.sleep(0.01)
    raise AssertionError(f"no {number} connections wait for a lock")


def _insert(connection: Connection, table: str, values: dict[str, Any]) -> int:
    cells = [json.dumps(value) if isinstance(value, (dict, list)) else value for value in values.values()]
    text = f"insert into {table} ({', '.join(values)}) values ({', '.join(['%s'] * len(cells))}) returning id"
    return int(one(connection, text, *cells))
