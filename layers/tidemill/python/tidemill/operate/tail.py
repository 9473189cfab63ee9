"""tail: what has happened since the last look. A look reads little, by primary keys and by the index of failed jobs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tidemill.operate.cursors import cursor, cursor_of
from tidemill.operate.operation import Operation, Parts

PAGE = 200
OVERLAP = 100  # ids below the last one that are looked at again
NEWEST = 2000  # jobs among which those are found that were done or discarded
LONGEST = 500  # characters of an error

_numbered = {"event": "events", "attempt": "attempts", "operation": "operations"}

after = cursor(
    events=int, said_events=list, attempts=int, said_attempts=list, operations=int, said_operations=list,
    ended_at=datetime, ended_id=int,
)  # fmt: skip


def tail(parts: Parts, operation: Operation) -> dict[str, Any]:
    """{"news": [...], "more": whether there is more already, "after": cursor}: what has happened since the answer that gave
    `after`, each thing once, in order of time; without `after` nothing yet, and the place to begin at. `limit` is 200 of
    each sort unless given. Each has `what` and `at`, and by `what`:

    event      id, source, jobs (how many it made, up to 1000), route_error, correlation_id: a delivery was stored
    attempt    job, kind, attempt, error_class, error, correlation_id: an attempt failed, and there will be another
    job        job, kind, status (done, failed, discarded), attempts, error_class, error, event, correlation_id: a job ended
               (done and discarded ones among the 2,000 newest jobs; said a second after the end)
    operation  id, by, command, arguments (as JSON text): somebody gave a command that changes something
    """
    if (place := operation.get("after")) is None:
        columns = parts.database.execute("operate_tail_from", {"overlap": OVERLAP})[0]
        return {"news": [], "more": False, "after": cursor_of(dict(zip(_FROM, columns, strict=True)) | {"ended_id": 0})}
    size = operation.get("limit") or PAGE
    bounds = {"overlap": OVERLAP, "newest": NEWEST, "longest": LONGEST, "size": size}
    rows = parts.database.execute("operate_tail", {**place, **bounds})
    by_sort: dict[str, list[int]] = {sort: [] for sort in (*_numbered, "job")}
    for sort, number, _, _ in rows:
        by_sort[sort].append(number)
    news = [(at, _news(sort, at, shown, parts)) for sort, _, at, shown in rows if not shown.get("last")]
    moved = _moved(place, by_sort)
    ends = [(at, number) for sort, number, at, _ in rows if sort == "job"]
    if ends:
        moved["ended_at"], moved["ended_id"] = max(ends)
    more = any(len(numbers) == size for numbers in by_sort.values())
    return {"news": [one for _, one in sorted(news, key=lambda one: one[0])], "more": more, "after": cursor_of(moved)}


_FROM = ("events", "said_events", "attempts", "said_attempts", "operations", "said_operations", "ended_at")


def _moved(place: Mapping[str, Any], said: Mapping[str, list[int]]) -> dict[str, Any]:
    """The place behind what was said: of each sort the last id, and those of the overlap below it that were said."""
    moved = dict(place)
    for sort, name in _numbered.items():
        last = max([place[name], *said[sort]])
        moved[name] = last
        moved[f"said_{name}"] = [one for one in (*place[f"said_{name}"], *said[sort]) if one > last - OVERLAP]
    return moved


def _news(sort: str, at: datetime, shown: dict[str, Any], parts: Parts) -> dict[str, Any]:
    fields = {name: value for name, value in shown.items() if name not in ("received_at", "at", "finished_at", "last")}
    if sort == "job":
        fields = {"job": fields.pop("id")} | fields
    if sort == "attempt":
        del fields["id"]
    for name in ("error", "route_error", "arguments"):
        if fields.get(name):
            fields[name] = parts.redact(fields[name])
    return {"what": sort, "at": at.isoformat(), **fields}
