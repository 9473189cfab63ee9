"""What came of a command, in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tidemill.console.html import Html, join
from tidemill.console.page import NEVER, Answer, Page
from tidemill.console.parts import notice


def outcome(page: Page, command: Mapping[str, Any], answer: Answer) -> Html:
    """The notice that stands above the view."""
    refused = answer.get("refused") or []
    look = "bad" if refused else "good"
    return notice(look, _said(page, str(command["command"]), answer), _reasons(refused))


def _said(page: Page, command: str, answer: Answer) -> Html:
    match command:
        case "retry" if "matched" in answer:
            return join(f"{answer['changed']:,} of {answer['matched']:,} failed jobs are back in their lines.")
        case "replay" if "matched" in answer:
            return join(f"{answer['changed']:,} of {answer['matched']:,} events brought jobs into their lines.")
        case "retry" if answer["outcome"] == "created":
            return join(page.job(answer["job"]), f" does job {answer['copy_of']} again.")
        case "retry":
            return join(page.job(answer["job"]), " is back in its line.")
        case "replay":
            return join(page.event(answer["event"]), " was routed again: ", _jobs(page, answer["jobs"]), ".")
        case "cancel":
            return join(page.job(answer["job"]), " was given up.")
        case "restart":
            return join(page.job(answer["job"]), f" runs again from the step {answer['step']}.")
        case "pause" if answer["paused_until"].startswith(NEVER):
            return join(f"Nothing starts under the limit {answer['limit']} until it is resumed.")
        case "pause":
            return join(f"The limit {answer['limit']} is paused; it ends ", page.time(answer["paused_until"]), ".")
        case _:
            return join(f"Jobs under the limit {answer['limit']} start again.")


def _jobs(page: Page, jobs: list[dict[str, Any]]) -> Html:
    if not jobs:
        return join("it makes no job")
    said = [join(page.job(one["id"]), f" ({one['kind']}) {one['outcome']}") for one in jobs]
    return join([[", " if index else None, one] for index, one in enumerate(said)])


def _reasons(refused: list[dict[str, Any]]) -> Html | None:
    """Each reason once, the commonest first."""
    if not refused:
        return None
    counts = Counter(one["message"] for one in refused).most_common(5)
    return join(" Refused: ", "; ".join(f"{message} ({number:,})" for message, number in counts), ".")
