"""What the commands print, and how they end."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import typer
from rich.console import Console

from tidemill import tables

UNFOLDED = 1000  # columns of a table that goes to a program: one line a row


class Exit(IntEnum):
    """Exit codes."""

    DONE = 0
    REFUSED = 1  # refused, not found, or in conflict with how things stand
    USAGE = 2  # a command that makes no sense
    UNREACHABLE = 3  # no database, no function, or one that is broken
    STOPPED = 130  # by Ctrl-C


def out() -> Console:
    """The console of what was asked for. What a program reads is neither coloured nor folded."""
    to_people = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(highlight=False) if to_people else Console(highlight=False, width=UNFOLDED)


def told(text: str, style: str = "") -> None:
    """Tell people something beside the answer: on stderr, so that it stands in no program's input."""
    Console(stderr=True, highlight=False).print(tables.plain(text), style=style, soft_wrap=True)


def fail(text: str, code: Exit = Exit.UNREACHABLE) -> typer.Exit:
    """Say what is wrong; raise what this returns."""
    told(text, "red")
    return typer.Exit(code)


def answered(answer: Mapping[str, Any], as_json: bool, shown: Mapping[str, Any] | None = None) -> typer.Exit:
    """Print an operator's answer, for people as `shown` where that is given; raise what this returns."""
    if as_json:
        typer.echo(json.dumps(answer))
    elif answer["ok"]:
        found = answer if shown is None else shown
        tables.show(out(), {name: value for name, value in found.items() if name != "ok"})
    if answer["ok"]:
        return typer.Exit(Exit.DONE)
    error = answer["error"]
    code = Exit.USAGE if error["code"] == "invalid" else Exit.REFUSED
    return typer.Exit(code) if as_json else fail(error["message"], code)
