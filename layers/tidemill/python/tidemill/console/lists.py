"""Three lists: what was found, what was refused at the door, and who did what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tidemill.console.html import Child, Html, join, tag
from tidemill.console.page import Page
from tidemill.console.parts import badge, data, empty, quiet, section, table


def search(page: Page, given: Mapping[str, Any]) -> Html:
    """`text` is an id, or a correlation id."""
    if given.get("text") is None:
        return section("Search", empty("Type the id of a job or an event, or a correlation id."))
    found = page.ask("search", text=given["text"])
    jobs, events = found["jobs"], found["events"]
    among = f"Correlation ids were looked for among the newest {found['among']:,}." if found["among"] else None
    return join(
        section(f"Jobs found for \u201c{given['text']}\u201d", _jobs(page, jobs) if jobs else empty("None.")),
        section("Events", _events(page, events) if events else empty("None.")),
        quiet(among),
    )


def _jobs(page: Page, jobs: list[dict[str, Any]]) -> Html:
    return table(
        ["job", "kind", "status", "created", "event"],
        (
            [
                page.job(one["id"]),
                tag("code", one["kind"]),
                badge(one["status"]),
                page.time(one["created_at"]),
                page.event(one["event_id"]) if one["event_id"] else quiet("none"),
            ]
            for one in jobs
        ),
    )


def _events(page: Page, events: list[dict[str, Any]]) -> Html:
    return table(
        ["event", "source", "received", "routed"],
        (
            [
                page.event(one["id"]),
                tag("code", one["source"]),
                page.time(one["received_at"]),
                one["route_error"] or badge("done"),
            ]
            for one in events
        ),
    )


def rejected(page: Page, given: Mapping[str, Any]) -> Html:
    """`after` is the cursor of the page."""
    found = page.ask("rejected", after=given.get("after"))
    if not found["rejected"]:
        return section("Rejected", empty("Nothing was refused at the door."))
    columns = ["source", "why", "times", "last", "the latest one"]
    rows = (_refusal(page, one) for one in found["rejected"])
    return section("Rejected", table(columns, rows), _older(page, "rejected", found["after"]))


def _refusal(page: Page, one: Mapping[str, Any]) -> list[Child]:
    shown: Html = quiet("not kept")
    if sample := one["sample"]:
        shown = tag("details", tag("summary", f"{sample.get('method')} {sample.get('path')}"), data(sample))
    return [tag("code", one["source"]), one["reason"], one["count"], page.time(one["last_at"]), shown]


def operations(page: Page, given: Mapping[str, Any]) -> Html:
    """`after` is the cursor of the page."""
    found = page.ask("operations", after=given.get("after"))
    if not found["operations"]:
        return section("Operations", empty("Nobody has changed anything by hand."))
    rows = (_operation(page, one) for one in found["operations"])
    return section("Operations", table(["when", "who", "what", "outcome"], rows), _older(page, "operations", found["after"]))


def _operation(page: Page, one: Mapping[str, Any]) -> list[Child]:
    outcome = {name: value for name, value in one["outcome"].items() if value not in (None, [], {}, "")}
    return [
        page.time(one["at"]),
        one["by"],
        join(tag("code", one["command"]), " ", _pairs(one["arguments"])),
        _pairs(outcome),
    ]


def _pairs(values: Mapping[str, Any]) -> Html:
    return join([tag("span", quiet(f"{name} "), _value(value), class_="pair-of") for name, value in values.items()])


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _older(page: Page, view: str, after: str | None) -> Html | None:
    return tag("div", page.button("Older", {"view": view, "after": after}), class_="pages") if after else None
