"""A job's whole story: what it is, what it was given, each failed attempt, its steps, where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemill.console.failed import cancel_button, retry_button
from tidemill.console.html import Child, Html, join, tag
from tidemill.console.page import Page
from tidemill.console.parts import badge, data, empty, error, facts, quiet, section, table


def job(page: Page, given: Mapping[str, Any]) -> Html:
    told = page.ask("show", job=given.get("job"))
    one = told["job"]
    here = {"view": "job", "job": one["id"]}
    return join(
        section(f"Job {one['id']}", _facts(page, one), _end(told), buttons=_buttons(page, one, here)),
        section("Failed attempts", attempts(page, told["errors"])),
        section("Steps", _steps(page, one, told["steps"], here)) if told["steps"] else None,
        tag("div", section("Payload", data(one["payload"], one.get("payload_text"))), _result(one), class_="pair"),
        section("Where it came from", _origin(page, told)),
    )


def attempts(page: Page, errors: list[dict[str, Any]]) -> Html:
    """The failed attempts, the latest first."""
    if not errors:
        return empty("No attempt has failed.")
    lines = []
    for one in reversed(errors):
        where = [one.get("worker"), one.get("log_stream"), one.get("request_id")]
        about = join(page.time(one["at"]), quiet(f"attempt {one['attempt']}"))
        trace = quiet(" \u00b7 ".join(dict.fromkeys(str(part) for part in where if part)))
        lines.append(tag("li", tag("div", about, class_="when"), error(one["error_class"], one["error"]), trace))
    return tag("ol", lines, class_="timeline")


def step_state(page: Page, step: Mapping[str, Any], over: bool) -> Child:
    """What became of a step of a workflow."""
    if step.get("error"):
        return join(badge("failed"), " ", quiet(step["error"]))
    return badge("done") if over else join(badge("pending"), " ", quiet("until at most ", page.time(step["wake_at"])))


def _facts(page: Page, one: Mapping[str, Any]) -> Html:
    most = one["max_attempts"]
    correlation = one["correlation_id"]
    find = {"view": "search", "text": correlation}
    return facts(
        {
            "kind": tag("code", one["kind"]),
            "attempts": f"{one['attempts']} of {most}" if most else str(one["attempts"]),
            "due": page.time(one["run_at"]) if one["status"] == "pending" else None,
            "leased until": page.time(one["locked_until"]) if one["status"] == "running" else None,
            "started": page.time(one["started_at"]),
            "finished": page.time(one["finished_at"]),
            "sent to a queue": page.time(one["sent_at"]),
            "created": page.time(one["created_at"]),
            "first failed": page.time(one["first_failed_at"]),
            "redriven": page.time(one["redriven_at"]),
            "key": one["key"],
            "limit": one["limit_name"],
            "tenant": one["tenant"],
            "priority": one["priority"] or None,
            "slot": one["slot"],
            "worker": one["worker"],
            "correlation id": page.link(correlation, find) if correlation else None,
            "does again": page.job(one["copy_of"]) if one["copy_of"] else None,
        }
    )


def _end(told: Mapping[str, Any]) -> Html | None:
    """How it ended, where no attempt says so: it was cancelled, say."""
    one = told["job"]
    return error(one["error_class"], one["last_error"]) if one["last_error"] and not told["errors"] else None


def _buttons(page: Page, one: Mapping[str, Any], here: Mapping[str, Any]) -> Html:
    status = one["status"]
    again = {**here, "do": {"command": "retry", "job": one["id"], "force": True}}
    question = f"Job {one['id']} is {status}. Make a new job that does it again? Its effects may happen twice."
    return join(
        badge(status),
        retry_button(page, one, here) if status == "failed" else None,
        page.button("Do it again", again, confirm=question) if status in ("done", "discarded") else None,
        cancel_button(page, one, here) if status in ("pending", "failed") else None,
    )


def _steps(page: Page, one: Mapping[str, Any], steps: list[dict[str, Any]], here: Mapping[str, Any]) -> Html:
    return table(
        ["step", "what", "outcome", "change"],
        (
            [
                tag("code", step["name"]),
                step["kind"],
                join(step_state(page, step, _is_over(page, step)), _value_of(step)),
                _restart(page, one, step["name"], here),
            ]
            for step in steps
        ),
    )


def _is_over(page: Page, step: Mapping[str, Any]) -> bool:
    if step["kind"] == "step" or step["result"] is not None or step["wake_at"] is None:
        return True
    return page.is_past(step["wake_at"])


def _value_of(step: Mapping[str, Any]) -> Html | None:
    if step["result"] is None and "result_text" not in step:
        return None
    return tag("details", tag("summary", "result"), data(step["result"], step.get("result_text")))


def _restart(page: Page, one: Mapping[str, Any], step: str, here: Mapping[str, Any]) -> Html:
    if one["status"] == "running":
        return quiet("it runs")
    question = f"Run job {one['id']} again from the step {step}? It forgets this step and all after it."
    do = {"command": "restart", "job": one["id"], "step": step}
    return page.button("Restart here", {**here, "do": do}, confirm=question)


def _result(one: Mapping[str, Any]) -> Html:
    if one["result"] is None and "result_text" not in one:
        return section("Result", empty("It has none."))
    return section("Result", data(one["result"], one.get("result_text")))


def _origin(page: Page, told: Mapping[str, Any]) -> Html:
    event = told["event"]
    if event is None:
        return empty("No event: a schedule, another job or a plain insert made it.")
    others = [
        tag("li", page.job(other["id"]), tag("code", other["kind"]), badge(other["status"])) for other in told["siblings"]
    ]
    said = quiet(f"from {event['source']}, received ", page.time(event["received_at"]))
    return join(
        tag("p", page.event(event["id"]), " ", said),
        tag("ul", others, class_="lines") if others else empty("It is the event's only job."),
    )
