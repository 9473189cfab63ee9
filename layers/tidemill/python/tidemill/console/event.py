"""An event's whole story: what came, and for each of its jobs what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemill.console.html import Html, join, tag
from tidemill.console.job import attempts, step_state
from tidemill.console.page import Page, counted
from tidemill.console.parts import badge, body, empty, error, facts, quiet, section


def event(page: Page, given: Mapping[str, Any]) -> Html:
    told = page.ask("show", event=given.get("event"))
    one = told["event"]
    return join(
        section(f"Event {one['id']}", _facts(page, one), _route_error(one), buttons=_buttons(page, one)),
        section("What became of it", _jobs(page, told["jobs"])),
        tag("div", section("Body", body(one)), section("Headers", _headers(one["headers"])), class_="pair"),
    )


def _facts(page: Page, one: Mapping[str, Any]) -> Html:
    correlation, repeats, others = one["correlation_id"], one["redeliveries"], one["mismatches"]
    said = f", {others} with another body" if others else ""
    again = join(f"{counted(repeats, 'time')}{said}, the last ", page.time(one["redelivered_at"]))
    return facts(
        {
            "source": tag("code", one["source"]),
            "received": page.time(one["received_at"]),
            "dedup key": one["dedup_key"],
            "delivered again": again if repeats else None,
            "correlation id": page.link(correlation, {"view": "search", "text": correlation}) if correlation else None,
            "size": f"{one['body_bytes']:,} bytes",
        }
    )


def _route_error(one: Mapping[str, Any]) -> Html | None:
    return error("It could not be routed", one["route_error"]) if one["route_error"] else None


def _buttons(page: Page, one: Mapping[str, Any]) -> Html:
    number = one["id"]
    do = {"command": "replay", "event": number}
    question = f"Route event {number} again by the code of today? What failed is tried again, what is missing is made."
    return page.button("Replay", {"view": "event", "event": number, "do": do}, confirm=question, look="primary")


def _jobs(page: Page, jobs: list[dict[str, Any]]) -> Html:
    if not jobs:
        return empty("It made no job.")
    return tag("ol", [tag("li", _job(page, one)) for one in jobs], class_="story")


def _job(page: Page, one: Mapping[str, Any]) -> Html:
    about = [counted(one["attempts"], "attempt"), f"key {one['key']}" if one["key"] else ""]
    when = page.time(one["finished_at"]) if one["finished_at"] else join("due ", page.time(one["run_at"]))
    steps = [tag("li", tag("code", step["name"]), step_state(page, step, step["over"])) for step in one["steps"]]
    return join(
        tag("div", page.job(one["id"]), tag("code", one["kind"]), badge(one["status"]), quiet(when), class_="when"),
        quiet(", ".join(part for part in about if part)),
        tag("ul", steps, class_="lines") if steps else None,
        attempts(page, one["errors"]) if one["errors"] else None,
    )


def _headers(headers: Mapping[str, Any]) -> Html:
    if not headers:
        return empty("None were kept.")
    return facts({name: value if isinstance(value, str) else str(value) for name, value in headers.items()})
