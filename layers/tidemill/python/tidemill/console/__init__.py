"""The operator's page inside the AWS console: a CloudWatch custom widget. `make run` serves the same page.

An event of the widget is what a button carries, beside `widgetContext`: {"view": name, ...} shows a view, whose fields are
named in the view's own docstring, and {"do": command, ...} has the operator carry a command out first.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/add_custom_widget_dashboard_about.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

import psycopg

from tidemill.console.event import event
from tidemill.console.failed import failed
from tidemill.console.html import Html, join, style, tag
from tidemill.console.job import job
from tidemill.console.lists import operations, rejected, search
from tidemill.console.outcome import outcome
from tidemill.console.overview import overview
from tidemill.console.page import Answer, Page
from tidemill.console.parts import notice, quiet, text_field
from tidemill.console.plan import plan
from tidemill.errors import CommandError
from tidemill.telemetry import Log

View = Callable[[Page, Mapping[str, Any]], Html]

VIEWS: dict[str, View] = {
    "overview": overview, "failed": failed, "rejected": rejected, "operations": operations,
    "job": job, "event": event, "search": search, "plan": plan,
}  # fmt: skip
TABS = ("overview", "failed", "rejected", "operations")
CHANGES = ("retry", "replay", "cancel", "restart", "pause", "resume")  # what a button may do
NOBODY = "console"  # stands in `operations` where the widget does not say whose page it is

_AWAY = "The database does not answer. Deliveries are kept meanwhile; nothing can be shown or changed here."


class Console:
    """Answers the widget. `run` is the operator's, `now` tells an aware instant."""

    def __init__(
        self, run: Callable[[object], Answer], log: Log, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._run = run
        self._log = log
        self._now = now

    def answer(self, event: object, endpoint: str) -> str | dict[str, str]:
        """The HTML of a view, or where `describe` is asked {"markdown": what this is}. `endpoint` is the function's own ARN.
        Never raises for a bad event, nor for a database that is away: the page says so."""
        given = _object(event)
        if given.get("describe"):
            return {"markdown": _text("help.md")}
        page = Page(self._run, endpoint, self._now())
        context = _object(given.get("widgetContext"))
        told: Html | None = None
        shown: Html | None = None
        try:
            told = self._do(page, given, context)
            shown = _view(page, given, context)
        except CommandError as error:
            told = join(told, notice("bad", f"{error}."))
        except psycopg.OperationalError as error:
            self._log.error("the console page cannot reach the database", reason=type(error).__name__)
            told = join(told, notice("bad", _AWAY))
        return _whole(page, given, context, told, shown)

    def _do(self, page: Page, given: Mapping[str, Any], context: Mapping[str, Any]) -> Html | None:
        """Carry out the command of a button, if it was one."""
        params = _object(context.get("params"))
        # What the widget is configured with comes again whenever the dashboard is opened or refreshed.
        if (command := given.get("do")) is None or "do" in params:
            return None
        if not isinstance(command, dict) or command.get("command") not in CHANGES:
            raise CommandError("invalid", f"do must be one of the commands {', '.join(CHANGES)}", "do")
        by = given.get("by") or params.get("by") or NOBODY
        try:
            return outcome(page, command, page.send({**command, "by": by}))
        except CommandError as error:
            return notice("bad", f"{error}.")


def _view(page: Page, given: Mapping[str, Any], context: Mapping[str, Any]) -> Html:
    name = given.get("view") or "overview"
    if not isinstance(name, str) or name not in VIEWS:
        raise CommandError("invalid", f"view must be one of {', '.join(VIEWS)}", "view")
    return VIEWS[name](page, {**given, **_typed(given, context)})


def _typed(given: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, str | None]:
    """What was typed into the fields that the button names in `form`: all fields of the page come with every click."""
    typed = _object(_object(context.get("forms")).get("all"))
    names = given.get("form")
    values = {name: typed.get(name) for name in names if isinstance(name, str)} if isinstance(names, list) else {}
    return {name: value.strip() or None if isinstance(value, str) else None for name, value in values.items()}


def _whole(page: Page, given: Mapping[str, Any], context: Mapping[str, Any], told: Html | None, shown: Html | None) -> Html:
    theme = context.get("theme")
    look = theme if theme in ("light", "dark") else "auto"
    again = {name: value for name, value in given.items() if name not in ("widgetContext", "do", "form")}
    again |= _typed(given, context)
    refresh = page.button("Refresh", again, look="tab")
    return join(
        style(_text("style.css")),
        tag(
            "div",
            _top(page, str(given.get("view") or "overview")),
            told,
            tag("main", shown),
            tag("footer", quiet(f"as of {page.now.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"), refresh),
            class_=f"tidemill cwdb-no-default-styles {look}",
        ),
    )


def _top(page: Page, view: str) -> Html:
    tabs = [page.link(name.capitalize(), {"view": name}, current=name == view) for name in TABS]
    # Two fields of text, one of them hidden: Enter in the only field of a form would send it, and so leave the dashboard.
    search = tag(
        "form",
        text_field(name="text", placeholder="id or correlation id", aria_label="id or correlation id"),
        text_field(name="unused", hidden=True),
        page.button("Search", {"view": "search", "form": ["text"]}),
        class_="search",
        role="search",
    )
    return tag("header", tag("nav", tabs, aria_label="Views"), search)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


@cache
def _text(name: str) -> str:
    return files("tidemill.console").joinpath(name).read_text("utf-8")
