"""show: a job or an event, whole."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Callable
from typing import Any

from tidemill import jsontext
from tidemill.errors import CommandError
from tidemill.operate.operation import Operation, Parts

BOUND = 256 * 1024  # characters of a payload or a result, bytes of a body
STEP_BOUND = 16 * 1024  # characters of a step's result


def show(parts: Parts, operation: Operation) -> dict[str, Any]:
    """{"job", "errors", "steps", "event", "siblings"} of a job, or {"event", "jobs"} of an event.

    `steps` are the last 200 of a workflow, {"name", "kind", "result", "wake_at"} with `error` where one failed for good; a
    result over 16 KiB is shown as one of the job is. `errors` are the last 50 failed attempts, `siblings` the event's other
    jobs. A payload or result that is over 256 KiB, or that cannot be shown as JSON, is null, with the beginning of its text
    in `payload_text` or `result_text`. An event's body is `body` as text, or `body_base64` where it is not UTF-8, cut at
    256 KiB; `body_bytes` is its true size.
    """
    job, event = operation.get("job"), operation.get("event")
    if (job is None) == (event is None):
        raise CommandError("invalid", "give one of job and event", "job")
    return show_job(parts, job) if event is None else show_event(parts, event)


def show_job(parts: Parts, number: int) -> dict[str, Any]:
    rows = parts.database.execute("operate_show_job", {"id": number, "bound": BOUND, "step_bound": STEP_BOUND})
    if not rows:
        raise CommandError("not_found", f"there is no job {number}", "job")
    job, payload, result, errors, event, siblings, steps = rows[0]
    job |= _json("payload", payload, parts.redact) | _json("result", result, parts.redact)
    shown = [_step(one, parts.redact) for one in steps]
    return {"job": job, "errors": errors, "steps": shown, "event": event, "siblings": siblings}


def show_event(parts: Parts, number: int) -> dict[str, Any]:
    rows = parts.database.execute("operate_show_event", {"id": number, "bound": BOUND})
    if not rows:
        raise CommandError("not_found", f"there is no event {number}", "event")
    event, body, jobs = rows[0]
    return {"event": event | _body(body, event["body_bytes"], parts.redact), "jobs": jobs}


def _step(step: dict[str, Any], redact: Callable[[str], str]) -> dict[str, Any]:
    shown = {"name": step["name"], "kind": step["kind"], **_json("result", step["result"], redact, STEP_BOUND)}
    return shown | {"wake_at": step["wake_at"]} | ({"error": step["error"]} if step["error"] else {})


def _json(name: str, text: str | None, redact: Callable[[str], str], bound: int = BOUND) -> dict[str, Any]:
    if text is None:
        return {name: None}
    text = redact(text)
    try:
        if len(text) <= bound:
            return {name: jsontext.loads(text)}
    except ValueError:
        pass
    return {name: None, f"{name}_text": text[:bound]}


def _body(body: bytes, size: int, redact: Callable[[str], str]) -> dict[str, Any]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        return {"body": redact(decoder.decode(body, final=len(body) == size))}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode()}
