"""tidemill tail: what happens, a line each, until Ctrl-C."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from tidemill import tables
from tidemill.cli import options as of
from tidemill.cli.output import Exit, answered, fail, told
from tidemill.cli.target import Target, Unreachable

_STYLES = {"done": "green", "failed": "red", "discarded": "yellow"}

Every = Annotated[float, typer.Option("--every", min=0.2, help="Seconds between two looks.")]
Json = Annotated[bool, typer.Option("--json", help="Print each as a line of JSON.")]


def tail(
    every: Every = 1.0,
    database: of.Database = None,
    stack: of.Stack = None,
    function: of.Function = None,
    region: of.Region = None,
    as_json: Json = False,
) -> None:
    """Follow what happens, until Ctrl-C: deliveries, failed attempts, ends of jobs, commands."""
    target = of.target(database, stack, function, region)
    console = Console(highlight=False)
    try:
        first = target.run({"command": "tail"})
        if not first["ok"]:
            raise answered(first, as_json)
        told("following; Ctrl-C ends it", "dim")
        for news in follow(target, first["after"], lambda: time.sleep(every)):
            if as_json:
                typer.echo(json.dumps(news))
            else:
                console.print(line(news), soft_wrap=True)
    except Unreachable as error:
        raise fail(str(error)) from None
    except KeyboardInterrupt:
        raise typer.Exit(Exit.DONE) from None


def follow(target: Target, after: str, pause: Callable[[], None]) -> Iterator[dict[str, Any]]:
    """What happens from the place `after` on, without an end. What is out of reach for a time is told, and tried again."""
    away = False
    while True:
        try:
            answer = target.run({"command": "tail", "after": after})
        except Unreachable as error:
            if not away:
                told(f"{error}; trying again", "red")
            away = True
            pause()
            continue
        if away:
            told("it is back", "dim")
        away = False
        after = answer["after"]
        yield from answer["news"]
        if not answer["more"]:
            pause()


def line(news: dict[str, Any]) -> Text:
    """One thing that happened, as one line of text."""
    at = datetime.fromisoformat(news["at"])
    text = Text(f"{at:%H:%M:%S}Z  ", style="dim")
    text.append_text(_words(news))
    return text


def _words(news: dict[str, Any]) -> Text:
    match news["what"]:
        case "event":
            said = f"no jobs: {_first(news['route_error'])}" if news["route_error"] else _jobs(news["jobs"])
            return _text(f"event {news['id']}", f"{news['source']}  {said}", "red" if news["route_error"] else "")
        case "attempt":
            said = f"attempt {news['attempt']} failed: {news['error_class']}: {_first(news['error'])}"
            return _text(f"job {news['job']}", f"{news['kind']}  {said}", "yellow")
        case "job":
            said = news["status"]
            if said != "done":
                said += f": {news['error_class']}: {_first(news['error'])}" if news["error"] else ""
            elif news["attempts"] > 1:
                said += f" with attempt {news['attempts']}"
            return _text(f"job {news['job']}", f"{news['kind']}  {said}", _STYLES[news["status"]])
    return _text(news["by"], f"{news['command']} {news['arguments']}", "cyan")


def _jobs(number: int) -> str:
    return "1 job" if number == 1 else f"{number} jobs"


def _text(subject: str, said: str, style: str) -> Text:
    text = tables.plain(f"{subject:<12}  ")
    text.append_text(tables.plain(said.replace("\n", " ")))
    text.stylize(style)
    return text


def _first(error: str | None) -> str:
    """The first line of an error."""
    return (error or "").strip().partition("\n")[0]
