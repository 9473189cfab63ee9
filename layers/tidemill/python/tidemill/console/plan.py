"""What a command on many would do, counted and not done; a button then does it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemill.console.html import Html, join, tag
from tidemill.console.page import Page, counted
from tidemill.console.parts import empty, facts, section, table
from tidemill.errors import CommandError

SHOWN = 20  # of what would be refused


def plan(page: Page, given: Mapping[str, Any]) -> Html:
    """`of` in `given` is the command: a retry or a replay of many."""
    command = given.get("of")
    if not isinstance(command, dict) or command.get("command") not in ("retry", "replay"):
        raise CommandError("invalid", "of must be the retry or the replay of many", "of")
    found = page.send({**command, "dry_run": True})
    if "matched" not in found:
        raise CommandError("invalid", "of must be the retry or the replay of many, not of one", "of")
    retry = command["command"] == "retry"
    name, what, done = ("Retry", "failed job", "retried") if retry else ("Replay", "event", "routed again")
    back = {"view": "failed" if retry else "overview"}
    refused = len(found["refused"]) + found.get("refused_more", 0)
    fitting = found["matched"] - refused
    said = counted(fitting, what)
    filters = {field: str(value) for field, value in command.items() if field != "command"}
    do = {**back, "do": command}
    go = page.button(f"{name} {said}", do, confirm=f"{name} {said}?", look="primary") if fitting else None
    return section(
        f"{name} many",
        tag("p", f"{said} would be {done}. Nothing has been changed yet."),
        facts({**filters, **{f"jobs {outcome}": number for outcome, number in found.get("jobs", {}).items()}}),
        _refused(page, what, found["refused"], refused),
        buttons=join(go, page.button("Back", back)),
    )


def _refused(page: Page, what: str, refused: list[dict[str, Any]], number: int) -> Html:
    if not refused:
        return empty("None would be refused.")
    link = page.job if what == "failed job" else page.event
    reasons = table(["refused", "why"], ([link(one["id"]), one["message"]] for one in refused[:SHOWN]))
    more = number - len(refused[:SHOWN])
    return join(reasons, empty(f"and {more:,} more") if more else None)
