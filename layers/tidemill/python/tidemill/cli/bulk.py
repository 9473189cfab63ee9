"""Commands that change many: a dry run and a question first on a terminal, then part after part, saying how far it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import typer

from tidemill.cli.output import Exit, answered, fail, told
from tidemill.cli.target import Command, Target, Unreachable

PART = {"retry": 500, "replay": 100}  # jobs or events: a part is done well within the timeout of the function
_NAMED = 1000  # refusals that an answer names


def one_of_many(command: Command) -> bool:
    """Whether a command goes to many jobs or events: it names none."""
    return command["command"] in PART and not ("job" in command or "event" in command)


def carry_out(target: Target, command: Command, *, yes: bool, as_json: bool) -> typer.Exit:
    """Carry it out, and print what came of all parts together; raise what this returns. Raises Unreachable."""
    what = "failed jobs" if command["command"] == "retry" else "events"

    def looked(sum: dict[str, Any]) -> None:
        told(f"{sum['matched']} {what} match so far")

    def changed(sum: dict[str, Any]) -> None:
        told(f"{sum['matched']} {what} so far, {sum['changed']} changed")

    if command.get("dry_run"):
        return answered(_all_parts(target, command, looked), as_json)
    if sys.stdin.isatty() and not yes:
        found = _all_parts(target, {**command, "dry_run": True}, looked)
        if not found["ok"] or not found["matched"]:
            return answered(found, as_json)
        if not typer.confirm(f"{found['matched']} {what} match. {str(command['command']).capitalize()} them?", err=True):
            return fail("nothing was changed", Exit.REFUSED)
    return answered(_all_parts(target, command, changed), as_json)


def _all_parts(target: Target, command: Command, say: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The sum of the answers, or the first that is none; `say` gets the sum so far after each part but the last."""
    sum: dict[str, Any] = {"ok": True, "matched": 0, "changed": 0, "refused": []}
    try:
        for answer in _parts(target, command):
            if not answer["ok"]:
                return answer
            _add(sum, answer)
            if answer["after"]:
                say(sum)
    except (Unreachable, KeyboardInterrupt):
        if not command.get("dry_run") and sum["matched"]:
            told(f"stopped after {sum['matched']}, of which {sum['changed']} are changed; the same command goes on", "red")
        raise
    return sum


def _parts(target: Target, command: Command) -> Iterator[dict[str, Any]]:
    part = {**command, "limit": PART[command["command"]]}
    while True:
        answer = target.run(part)
        yield answer
        if not answer["ok"] or not answer["after"]:
            return
        part["after"] = answer["after"]


def _add(sum: dict[str, Any], answer: dict[str, Any]) -> None:
    """Add the answer of a part, of which at most a thousand refusals are named."""
    sum["matched"] += answer["matched"]
    sum["changed"] += answer["changed"]
    refused = [*sum["refused"], *answer["refused"]]
    more = sum.get("refused_more", 0) + answer.get("refused_more", 0) + max(len(refused) - _NAMED, 0)
    sum["refused"] = refused[:_NAMED]
    if more:
        sum["refused_more"] = more
    for outcome, number in answer.get("jobs", {}).items():
        jobs = sum.setdefault("jobs", {})
        jobs[outcome] = jobs.get(outcome, 0) + number
    if "jobs" in answer:
        sum.setdefault("jobs", {})
