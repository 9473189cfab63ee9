"""The first view: how the line stands, what is paused, what ran when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemill.console.html import Child, Html, join, tag
from tidemill.console.page import NEVER, Page, counted, span
from tidemill.console.parts import badge, bar, empty, error, notice, quiet, section, table

OLD = 300.0  # seconds that a job may be ready before the page says so, as long as before the first alert
PAUSE = 600  # seconds


def overview(page: Page, given: Mapping[str, Any]) -> Html:
    stats, schedules = page.ask("stats"), page.ask("schedules")["schedules"]
    return join(
        _verdict(stats, schedules),
        _numbers(page, stats),
        section("Jobs by kind", _kinds(page, stats["kinds"])),
        tag(
            "div",
            section("Limits", _limits(page, stats["limits"])),
            section("Schedules", _schedules(page, schedules)),
            class_="pair",
        ),
    )


def _verdict(stats: Mapping[str, Any], schedules: list[dict[str, Any]]) -> Html:
    age = stats["oldest_ready_age"] or 0
    overdue = sum(one["overdue"] for one in schedules)
    said = [
        f"{_count(stats, 'failed', 'job has', 'jobs have')} failed for good." if stats["jobs"]["failed"] else "",
        f"A job has been ready for {span(age)}." if age > OLD else "",
        f"{_count(stats, 'unrouted', 'event was', 'events were')} stored without jobs." if stats["unrouted"] else "",
    ]
    said.append(f"{counted(overdue, 'schedule')} {'is' if overdue == 1 else 'are'} overdue." if overdue else "")
    if not any(said):
        return notice("good", "All is well: nothing has failed, and no work is late.")
    return notice("bad", " ".join(one for one in said if one))


def _numbers(page: Page, stats: Mapping[str, Any]) -> Html:
    failed, unrouted, age = stats["jobs"]["failed"], stats["unrouted"], stats["oldest_ready_age"] or 0
    replay_all = {"view": "plan", "of": {"command": "replay", "unrouted": True}}
    look_at = page.link("look at them", {"view": "failed"}) if failed else "nothing to do"
    route_again = page.link("replay them", replay_all) if unrouted else "each event was routed"
    return tag(
        "div",
        _card(stats, "ready", f"the oldest for {span(age)}" if age else "no work waits", look="bad" if age > OLD else ""),
        _card(stats, "running", "at this moment"),
        _card(stats, "pending", "ready ones among them"),
        _card(stats, "failed", look_at, look="bad"),
        _card(stats, "unrouted", route_again, look="bad"),
        class_="cards",
    )


def _card(stats: Mapping[str, Any], name: str, note: Child, look: str = "") -> Html:
    count = _value(stats, name)
    return tag(
        "div",
        tag("span", name, class_="label"),
        tag("span", _bounded(stats, name), class_="number"),
        tag("span", note, class_="quiet"),
        class_=f"card {look if count else ''}".strip(),
    )


def _kinds(page: Page, kinds: Mapping[str, Mapping[str, int]]) -> Html:
    if not kinds:
        return empty("No job waits, runs or has failed.")
    most = max(sum(counts.values()) for counts in kinds.values())
    return table(
        ["kind", "pending", "running", "failed", "share"],
        (
            [
                tag("code", kind),
                counts["pending"],
                counts["running"],
                page.link(counts["failed"], {"view": "failed", "kind": kind}) if counts["failed"] else 0,
                bar({"waits": counts["pending"], "busy": counts["running"], "bad": counts["failed"]}, most),
            ]
            for kind, counts in kinds.items()
        ),
        look="narrow",
    )


def _limits(page: Page, limits: list[dict[str, Any]]) -> Html:
    if not limits:
        return empty("No handler that has run has a limit.")
    return table(
        ["limit", "in use", "state", "change"],
        (
            [
                tag("code", one["name"]),
                join(f"{one['used']} of {one['size']}", bar({"busy": min(one["used"], one["size"])}, one["size"])),
                _pause_of(page, one["paused_until"]),
                _switches(page, one),
            ]
            for one in limits
        ),
    )


def _pause_of(page: Page, until: str | None) -> Child:
    if until is None:
        return badge("open")
    said = "until it is resumed" if until.startswith(NEVER) else join("ends ", page.time(until))
    return tag("div", tag("span", "paused", class_="badge bad"), quiet(said), class_="stack")


def _switches(page: Page, limit: Mapping[str, Any]) -> Html:
    name = limit["name"]
    if limit["paused_until"] is not None:
        resume = {"view": "overview", "do": {"command": "resume", "limit": name}}
        return page.button("Resume", resume, confirm=f"Start jobs under the limit {name} again?")
    pause: dict[str, Any] = {"command": "pause", "limit": name}
    a_while = {"view": "overview", "do": {**pause, "for": PAUSE}}
    said = f"Start no job under the limit {name}"
    return tag(
        "div",
        page.button("Pause 10 min", a_while, confirm=f"{said} for {span(PAUSE)}? What runs goes on."),
        page.button("Pause", {"view": "overview", "do": pause}, confirm=f"{said} until it is resumed? What runs goes on."),
        class_="buttons",
    )


def _schedules(page: Page, schedules: list[dict[str, Any]]) -> Html:
    if not schedules:
        return empty("No automation declares a schedule.")
    return table(["schedule", "rule", "last slot", "next slot"], (_schedule(page, one) for one in schedules))


def _schedule(page: Page, one: Mapping[str, Any]) -> list[Child]:
    last = page.time(one["last_slot"]) or quiet("none yet")
    return [
        join(tag("code", one["name"]), None if one["kind"] == one["name"] else quiet(" ", one["kind"])),
        tag("code", one["rule"]),
        join(last, [" ", tag("span", "overdue", class_="badge bad")] if one["overdue"] else None, _fault(one["last_error"])),
        page.time(one["next_slot"]) or quiet("not declared any more"),
    ]


def _fault(last_error: str | None) -> Html | None:
    return error("Not enqueued", last_error) if last_error else None


def _value(stats: Mapping[str, Any], name: str) -> int:
    return int(stats["jobs"][name] if name in stats["jobs"] else stats[name])


def _bounded(stats: Mapping[str, Any], name: str) -> str:
    return f"{_value(stats, name):,}" + ("+" if name in stats["capped"] else "")


def _count(stats: Mapping[str, Any], name: str, one: str, many: str) -> str:
    return f"{_bounded(stats, name)} {one if _value(stats, name) == 1 else many}"
