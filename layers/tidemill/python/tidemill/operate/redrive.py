"""retry and cancel: a failed job gets a fresh budget, or is given up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import count
from typing import Any

from tidemill.errors import CommandError
from tidemill.newjob import key_text
from tidemill.operate.cursors import cursor
from tidemill.operate.operation import Bulk, Operation, Parts
from tidemill.operate.plan import Found
from tidemill.wire import Connection, run, statement

CHUNK = 500

_filters = ("kind", "error_class", "since", "until")

after = cursor(began=datetime, after_at=datetime, after_id=int)


def retry(parts: Parts, operation: Operation) -> dict[str, Any]:
    """Of one job {"job": id, "outcome": "redriven", "changed": 1}, or with `force`, of a job that is done or discarded,
    {"job": the new job's id, "outcome": "created", "copy_of": id, "changed": 1}. Of many (by kind, error_class, since, until
    of failed_at) {"matched", "changed", "refused"}, in chunks, each a transaction of its own. With `limit` it stops after so
    many, and `after` is the cursor to go on from, null at the end: each of those that had failed when the first one began is
    met once. A dry run changes nothing: its `changed` is 0, and the id of a new job null."""
    given = [name for name in _filters if operation.get(name) is not None]
    if (number := operation.get("job")) is not None:
        for name in (*given, *(name for name in ("limit", "after") if operation.get(name) is not None)):
            raise CommandError("invalid", f"{name} is for the retry of many jobs, not of one", name)
        return parts.change(lambda connection: _retry_one(connection, parts, operation, number))
    if not given:
        raise CommandError("invalid", "give job, or some of kind, error_class, since, until", "job")
    if operation.get("force"):
        raise CommandError("invalid", "force is for the retry of one job", "force")
    return _retry_many(parts, operation)


def cancel(parts: Parts, operation: Operation) -> dict[str, Any]:
    """{"job": id, "status": "discarded"}: a pending or failed job ends without having been done, and its key is free."""
    number = operation.get("job")
    if number is None:
        raise CommandError("invalid", "job must be the id of a job", "job")

    def work(connection: Connection) -> dict[str, Any]:
        job = lock(connection, number)
        if job.status not in ("pending", "failed"):
            reason = f"job {number} is {job.status}: only a pending or failed one can be cancelled"
            raise CommandError("conflict", reason, "job")
        run(connection, statement("operate_cancel"), {"id": number, "error": parts.redact(f"cancelled by {operation.by}")})
        answer = {"job": number, "status": "discarded"}
        operation.record(connection, {**answer, "was": job.status, "freed_key": job.key})
        return answer

    return parts.change(work)


def lock(connection: Connection, number: int) -> Found:
    """The job, locked until the end of the transaction. Raises CommandError where there is none."""
    rows = run(connection, statement("operate_job"), {"id": number})
    if not rows:
        raise CommandError("not_found", f"there is no job {number}", "job")
    return Found._make(rows[0])


def redrive(connection: Connection, numbers: Sequence[int], rows: Sequence[dict[str, Any]]) -> set[int]:
    """Put failed jobs back into their lines, each with a row that says its limit_name and, where today's route decides, all
    that newjob.row says; returns the ids of those that were failed still."""
    parameters = {
        "ids": list(numbers),
        "limit_names": [row["limit_name"] for row in rows],
        "delays": [row.get("delay", 0.0) for row in rows],
        "payloads": [row.get("payload") for row in rows],
        "run_ats": [row.get("run_at") for row in rows],
        "max_attempts": [row.get("max_attempts") for row in rows],
        "tenants": [row.get("tenant") for row in rows],
        "priorities": [row.get("priority") for row in rows],
    }
    return {number for (number,) in run(connection, statement("operate_redrive"), parameters)}


def copy(
    connection: Connection,
    job: Found,
    row: dict[str, Any],
    *,
    key: str | None,
    event_id: int | None = None,
    correlation_id: str | None = None,
) -> int:
    """A new job that does `job` again; returns its id. `row` as in redrive. Its key is `key` with the first free number
    behind it, since the finished job keeps its own; None stays None."""
    parameters = {
        "payload": None, "run_at": None, "delay": 0.0, "max_attempts": None, "tenant": None, "priority": None, **row,
        "id": job.id, "event_id": event_id, "correlation_id": correlation_id,
    }  # fmt: skip
    for one in _numbered(key):
        if rows := run(connection, statement("operate_copy"), {**parameters, "key": one}):
            return int(rows[0][0])
    raise AssertionError("unreachable")


def _numbered(key: str | None) -> Iterator[str | None]:
    return (key_text(key and f"{key}:{number}") for number in count(2))


def _retry_one(connection: Connection, parts: Parts, operation: Operation, number: int) -> dict[str, Any]:
    dry_run = operation.get("dry_run")
    job = lock(connection, number)
    refuse_unknown(parts, job.kind)
    row = {"limit_name": parts.limits.get(job.kind, "")}
    answer: dict[str, Any] = {"changed": 0 if dry_run else 1}
    if job.status == "failed":
        answer |= {"job": number, "outcome": "redriven"}
        if not dry_run:
            redrive(connection, [number], [row])
    else:
        _refuse_to_copy(connection, job, operation.get("force"))
        new = None if dry_run else copy(connection, job, row, key=job.key or job.freed_key)
        answer |= {"job": new, "outcome": "created", "copy_of": number}
    if not dry_run:
        operation.record(connection, answer)
    return answer


def _refuse_to_copy(connection: Connection, job: Found, force: bool | None) -> None:
    """A double click must not run a job twice, so a job has one open copy at most."""
    if job.status == "pending":
        raise CommandError("conflict", f"job {job.id} waits already", "job")
    if job.status == "running":
        raise CommandError("conflict", f"job {job.id} is running", "job")
    if not force:
        raise CommandError("conflict", f'job {job.id} is {job.status}; "force": true makes a new job of it', "job")
    original = job.copy_of or job.id
    for number, status in run(connection, statement("operate_open_copy"), {"id": original}):
        raise CommandError("conflict", f"job {number} does job {original} again already: it is {status}", "job")


def _retry_many(parts: Parts, operation: Operation) -> dict[str, Any]:
    database, dry_run = parts.database, operation.get("dry_run")
    bulk = Bulk()
    filters = {name: operation.get(name) for name in _filters}
    place = operation.get("after") or {"began": database.execute("operate_began")[0][0], "after_at": None, "after_id": None}
    size = operation.get("limit") or CHUNK
    while True:
        rows = database.execute("operate_failed_chunk", {**filters, **place, "size": size})
        bulk.matched += len(rows)
        known: list[tuple[int, str]] = []
        for number, kind, _ in rows:
            try:
                refuse_unknown(parts, kind)
                known.append((number, kind))
            except CommandError as error:
                bulk.refuse(number, error)
        if not dry_run:
            _redrive_chunk(parts, operation, known, bulk)
        if len(rows) == size:
            place = {**place, "after_at": rows[-1][2], "after_id": rows[-1][0]}
        if len(rows) < size or operation.get("limit"):
            break
    if not dry_run:
        parts.change(lambda connection: operation.record(connection, bulk.outcome()))
    return bulk.outcome() | operation.going_on(place if len(rows) == size else None)


def _redrive_chunk(parts: Parts, operation: Operation, known: list[tuple[int, str]], bulk: Bulk) -> None:
    numbers = [number for number, _ in known]

    def work(connection: Connection) -> set[int]:
        changed = redrive(connection, numbers, [{"limit_name": parts.limits.get(kind, "")} for _, kind in known])
        operation.record(connection, bulk.so_far(len(changed)))
        return changed

    changed = parts.change(work)
    bulk.changed += len(changed)
    for number in numbers:
        if number not in changed:
            bulk.refuse(number, CommandError("conflict", "somebody else has changed it meanwhile: it is no longer failed"))


def refuse_unknown(parts: Parts, kind: str) -> None:
    """Raises CommandError where nobody here could run the job."""
    if kind not in parts.handlers:
        raise CommandError("conflict", f"no handler for kind {kind!r}", "job")
