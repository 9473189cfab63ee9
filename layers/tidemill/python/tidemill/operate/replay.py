"""replay: the stored bytes of an event are routed again, by the code of today, and its jobs brought up to that."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tidemill import newjob, queue, telemetry
from tidemill.errors import CommandError
from tidemill.model import Event, NewJob
from tidemill.newjob import key_text, signals
from tidemill.operate.cursors import cursor
from tidemill.operate.operation import Bulk, Operation, Parts
from tidemill.operate.plan import Found, Step, held_by_another, plan
from tidemill.operate.redrive import copy, redrive
from tidemill.source import route
from tidemill.wire import Connection, run, statement

CHUNK = 200

_filters = ("source", "since", "until", "unrouted")

Jobs = list[dict[str, Any]]

after = cursor(last=int, after=int)


def replay(parts: Parts, operation: Operation) -> dict[str, Any]:
    """Of one event {"event": id, "jobs": [{"id", "kind", "outcome"}]}; where a job of another event holds a key, the outcome
    is `exists` and a `message` says so. Of many (by source, since, until of received_at, unrouted: those with a route_error)
    {"matched", "changed", "refused", "jobs": {outcome: number}}, in the order of their arrival, each in a transaction of its
    own; an event is changed when a job of it was created or redriven; `limit` and `after` as in retry. A dry run changes
    nothing: its `changed` is 0, and the ids of new jobs are null. An event that cannot be routed is refused, and its
    route_error says why."""
    given = [name for name in _filters if operation.get(name)]
    if (number := operation.get("event")) is None:
        if not given:
            raise CommandError("invalid", "give event, or some of source, since, until, unrouted", "event")
        return _replay_many(parts, operation)
    for name in (*given, *(name for name in ("limit", "after") if operation.get(name) is not None)):
        raise CommandError("invalid", f"{name} is for the replay of many events, not of one", name)

    def work(connection: Connection) -> Jobs | CommandError:
        jobs = _replay_event(connection, parts, operation, number)
        if not operation.get("dry_run"):
            operation.record(connection, {"refused": str(jobs)} if isinstance(jobs, CommandError) else {"jobs": jobs})
        return jobs

    jobs = parts.change(work)
    if isinstance(jobs, CommandError):
        raise jobs
    return {"event": number, "jobs": jobs}


def _replay_many(parts: Parts, operation: Operation) -> dict[str, Any]:
    dry_run = operation.get("dry_run")
    bulk, outcomes = Bulk(), Counter[str]()
    place = operation.get("after") or {"last": parts.database.execute("operate_began")[0][1], "after": 0}
    size = operation.get("limit") or CHUNK
    filters = {name: operation.get(name) for name in _filters} | {"unrouted": bool(operation.get("unrouted"))}

    def one(number: int) -> Jobs | CommandError:
        def work(connection: Connection) -> Jobs | CommandError:
            jobs = _replay_event(connection, parts, operation, number)
            if not dry_run:
                operation.record(connection, bulk.so_far(_changed(jobs)))
            return jobs

        try:
            return parts.change(work)
        except CommandError as error:  # its source is gone, or the event is
            return error

    while True:
        rows = parts.database.execute("operate_events_chunk", {**filters, **place, "size": size})
        for (number,) in rows:
            bulk.matched += 1
            jobs = one(number)
            bulk.changed += 0 if dry_run else _changed(jobs)
            if isinstance(jobs, CommandError):
                bulk.refuse(number, jobs)
            else:
                outcomes.update(job["outcome"] for job in jobs)
        if len(rows) == size:
            place = {**place, "after": rows[-1][0]}
        if len(rows) < size or operation.get("limit"):
            break
    answer = {**bulk.outcome(), "jobs": dict(outcomes)}
    if not dry_run:
        parts.change(lambda connection: operation.record(connection, answer))
    return answer | operation.going_on(place if len(rows) == size else None)


def _changed(jobs: Jobs | CommandError) -> int:
    return int(isinstance(jobs, list) and any(job["outcome"] in ("created", "redriven") for job in jobs))


def _replay_event(connection: Connection, parts: Parts, operation: Operation, number: int) -> Jobs | CommandError:
    """Replay one event. A fault of its route is returned and not raised, since route_error is to be kept."""
    dry_run = operation.get("dry_run")
    event = _event(connection, number)
    if (source := parts.sources.get(event.source)) is None:
        raise CommandError("conflict", f"no source {event.source!r} is loaded", "event")
    with telemetry.correlated(event.correlation_id):
        yielded, fault = route(source, event, parts.limits, parts.redact)
    if not dry_run:
        run(connection, statement("operate_event_routed"), {"id": number, "error": fault})
    if fault is not None:
        return CommandError("conflict", f"its route fails: {fault}", "event")
    jobs = [one for one in yielded if isinstance(one, NewJob)]
    own = [Found._make(row) for row in run(connection, statement("operate_event_jobs"), {"id": number})]
    steps = plan(jobs, own, _holders(connection, jobs), force=bool(operation.get("force")))
    if dry_run:
        return [_said(step, step.found.id if step.found and step.outcome != "created" else None) for step in steps]
    run(connection, statement("signals_keep"), signals(yielded))
    return [_take(connection, parts, event, step) for step in steps]


def _event(connection: Connection, number: int) -> Event:
    rows = run(connection, statement("operate_event"), {"id": number})
    if not rows:
        raise CommandError("not_found", f"there is no event {number}", "event")
    return Event(*rows[0])


def _holders(connection: Connection, jobs: list[NewJob]) -> dict[tuple[str, str], Found]:
    keys = [(job.kind, key) for job in jobs if (key := key_text(job.key)) is not None]
    parameters = {"kinds": [kind for kind, _ in keys], "keys": [key for _, key in keys]}
    rows = [Found._make(row) for row in run(connection, statement("operate_key_holders"), parameters)] if keys else []
    return {(one.kind, one.key): one for one in rows if one.key is not None}


def _take(connection: Connection, parts: Parts, event: Event, step: Step) -> dict[str, Any]:
    """Carry a step out, and say what came of it."""
    job, found = step.job, step.found
    if step.outcome == "redriven" and found is not None:
        redrive(connection, [found.id], [newjob.row(job, parts.limits)])
    elif step.outcome == "created" and found is not None:
        key = key_text(job.key)
        row = newjob.row(job, parts.limits)
        new = copy(connection, found, row, key=key, event_id=event.id, correlation_id=event.correlation_id)
        return _said(step, new)
    elif step.outcome == "created":
        links: dict[str, Any] = {"event_id": event.id, "correlation_id": event.correlation_id}
        [made] = queue.enqueue(connection, [job], limits=parts.limits, **links)
        if not made.created:  # somebody took the key in this moment
            holder = _holders(connection, [job])[job.kind, key_text(job.key) or ""]
            return _said(Step(job, "exists", holder, held_by_another(holder)), made.id)
        return _said(step, made.id)
    return _said(step, found.id if found else None)


def _said(step: Step, number: int | None) -> dict[str, Any]:
    said = {"id": number, "kind": step.job.kind, "outcome": step.outcome}
    return {**said, "message": step.message} if step.message else said
