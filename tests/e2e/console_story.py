"""A shop's bad Friday in a database: what the console page is looked at with. Nothing in it happened."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from tidemill.wire import Connection

_FAILURES = [
    ("order.announce", "RequestFailed", "Telegram sendMessage: status 502: Bad Gateway", 8, 4),
    (
        "invoice.send",
        "PermanentError",
        'the mail provider: status 422: "to" must be an address, not "ada(at)example.org"',
        1,
        11,
    ),
    ("crm.sync", "KeyError", "'customer_id'", 8, 26),
    ("order.announce", "PermanentError", "an order without a number", 1, 48),
    (
        "crm.sync",
        "RequestFailed",
        "https://crm.example: status 503: over capacity\nretry when the migration is over\n(batch 7)",
        8,
        95,
    ),
    ("stock.reserve", "LeaseExpired", "lease expired 5 times", 5, 170),
    ("crm.sync", "KeyError", "'customer_id'", 8, 60 * 26),
]  # kind, error class, error, attempts, minutes ago


def tell(connection: Connection) -> None:
    """Put the story into a migrated database."""
    _limits(connection)
    _schedules(connection)
    for number, (kind, error_class, error, attempts, minutes) in enumerate(_FAILURES, 1041):
        at = _ago(minutes)
        event = _event(connection, number, at - timedelta(minutes=130))
        first = at - timedelta(minutes=2 ** (attempts - 1) - 1)
        job = _job(
            connection, kind, "failed", event, _payload(number), attempts=attempts, max_attempts=8, finished_at=at,
            first_failed_at=first, error_class=error_class, last_error=error, worker="drain:4121",
        )  # fmt: skip
        for attempt in range(1, attempts + 1):
            _error(connection, job, attempt, at - timedelta(minutes=2 ** (attempts - attempt) - 1), error_class, error)
    _onboarding(connection)
    _open_jobs(connection)
    _refusals_and_operations(connection)


def _ago(minutes: float) -> datetime:
    return datetime.now(UTC) - timedelta(minutes=minutes)


def _payload(number: int) -> dict[str, Any]:
    return {"number": number, "total": "84.50", "currency": "EUR", "customer": {"name": "Ada", "language": "it"}}


def _event(connection: Connection, number: int, at: datetime, **columns: Any) -> int:
    body = json.dumps({"type": "order.paid", "order": _payload(number)})
    headers = {"content-type": "application/json", "x-shop-delivery": f"d-{number}", "x-shop-signature": "***"}
    values = {
        "source": "shop", "dedup_key": f"d-{number}", "headers": json.dumps(headers), "body": body.encode(),
        "received_at": at, "correlation_id": f"shop-{number}", **columns,
    }  # fmt: skip
    return _insert(connection, "events", values)


def _job(connection: Connection, kind: str, status: str, event: int | None, payload: Any, **columns: Any) -> int:
    created_at = columns.get("first_failed_at") or _ago(60)
    values: dict[str, Any] = {
        "kind": kind, "status": status, "event_id": event, "payload": json.dumps(payload), "tenant": "milan",
        "correlation_id": f"shop-{payload.get('number', 0)}", "created_at": created_at, **columns,
    }  # fmt: skip
    return _insert(connection, "jobs", values)


def _error(connection: Connection, job: int, attempt: int, at: datetime, error_class: str, error: str) -> None:
    where = {
        "log_stream": "2027/04/30/[$LATEST]5f1c",
        "request_id": "c9a4b2d0-6a3e-4d15-8f4b-2f3f0b7f9a11",
        "worker": "drain:4121",
    }
    values = {"job_id": job, "attempt": attempt, "at": at, "error_class": error_class, "error": error, **where}
    _insert(connection, "job_errors", values)


def _limits(connection: Connection) -> None:
    connection.execute(
        "insert into limits (name, size, paused_until) values"
        " ('crm', 4, now() + interval '42 min'), ('mail', 3, null), ('telegram', 5, null)"
    )
    connection.execute(
        "insert into places (limit_name, place, locked_until) select 'telegram', n, now() + interval '1 day'"
        " from generate_series(1, 2) n"
    )


def _schedules(connection: Connection) -> None:
    for name, kind, rule, minutes, error in (
        ("digest", "order.total", "daily('09:00', tz='Europe/Rome')", 300, None),
        ("stock", "stock.count", "every(minutes=15)", 95, "the database was read-only"),
    ):
        connection.execute(
            "insert into schedules (name, kind, rule, first_seen, last_slot, last_enqueued_at, last_error)"
            " values (%s, %s, %s, now() - interval '40 d', %s, %s, %s)",
            [name, kind, rule, _ago(minutes), _ago(minutes), error],
        )


def _onboarding(connection: Connection) -> None:
    """A workflow in the middle, and an event whose route failed."""
    event = _event(connection, 2001, _ago(180))
    job = _job(
        connection, "onboarding", "pending", event, {"number": 2001}, attempts=0, run_at=_ago(-60 * 24 * 2), key="ada"
    )
    connection.execute(
        "insert into job_steps (job_id, position, name, kind, result, wake_at) values"
        " (%(job)s, 1, 'welcome', 'step', '{\"mail\": \"m-17\"}', null),"
        " (%(job)s, 2, 'a day', 'sleep', null, now() - interval '1 h'),"
        " (%(job)s, 3, 'confirmed:ada', 'wait_for', null, now() + interval '2 d')",
        {"job": job},
    )
    for number in (2002, 2003):
        _event(connection, number, _ago(33), route_error="KeyError: 'order'")


def _open_jobs(connection: Connection) -> None:
    for number in range(24):
        _job(connection, "crm.sync", "pending", None, {"number": number}, run_at=_ago(3), limit_name="crm")
    for number in range(9):
        _job(connection, "order.announce", "pending", None, {"number": number}, run_at=_ago(-number), limit_name="telegram")
    for number in range(2):
        lease = _ago(-60 * 24)
        _job(connection, "order.announce", "running", None, {"number": number}, locked_until=lease, limit_name="telegram")
    for number in range(310):
        _job(connection, "order.announce", "done", None, {"number": number}, finished_at=_ago(60))


def _refusals_and_operations(connection: Connection) -> None:
    connection.execute(
        "insert into rejections (source, reason, hour, count, last_at) values"
        " ('shop', 'signature', date_trunc('hour', now(), 'UTC'), 3, now() - interval '7 min'),"
        " ('telegram', 'secret', date_trunc('hour', now() - interval '3 h', 'UTC'), 1, now() - interval '3 h')"
    )
    for by, command, arguments, outcome, minutes in (
        ("ann", "retry", {"kind": "order.announce", "since": "24h"}, {"matched": 12, "changed": 12, "refused": []}, 140),
        ("bob", "pause", {"limit": "crm", "for": 3600}, {"limit": "crm", "paused_until": _ago(-42).isoformat()}, 18),
    ):
        values = {"by": by, "command": command, "arguments": json.dumps(arguments), "outcome": json.dumps(outcome)}
        _insert(connection, "operations", {**values, "at": _ago(minutes)})


def _insert(connection: Connection, table: str, values: dict[str, Any]) -> int:
    text = f"insert into {table} ({', '.join(values)}) values ({', '.join(f'%({name})s' for name in values)}) returning id"
    return int(connection.execute(text, values).fetchall()[0][0])  # type: ignore[call-overload]
