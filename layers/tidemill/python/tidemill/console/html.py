"""HTML that cannot be forgotten to escape: whatever is no Html is text."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from tidemill import jsontext

_VOID = frozenset(("input",))
# JSON without a character that means anything in HTML, so that it is the same to whoever reads it as text and as HTML.
_unsaid = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


class Html(str):
    """HTML already. Only this module makes it, of constants and of what it has escaped; a test holds that."""


Child: TypeAlias = "str | int | float | Iterable[Child] | None"


def tag(name: str, /, *children: Child, **attributes: str | int | bool | None) -> Html:
    """An element. `class_` is the attribute class, `data_label` is data-label; True is an attribute without a value, False
    and None are none. None among the children is nothing."""
    shown = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    return Html(f"<{name}{shown}>" if name in _VOID else f"<{name}{shown}>{join(*children)}</{name}>")


def join(*children: Child) -> Html:
    """The children one after the other."""
    return Html("".join(_shown(child) for child in children))


def action(endpoint: str, event: Mapping[str, Any], confirmation: str | None = None) -> Html:
    """What CloudWatch does when the element before this one is clicked: it calls the function with `event`, and shows what
    that answers in place of the widget. `confirmation` is asked before.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/add_custom_widget_dashboard_interactivity.html
    """
    attributes = {"action": "call", "display": "widget", "endpoint": endpoint, "confirmation": confirmation}
    return tag("cwdb-action", Html(json.dumps(event).translate(_unsaid)), **attributes)


def style(css: str) -> Html:
    """A style sheet of ours."""
    return Html(f"<style>{css}</style>")


def escape(value: str | int | float) -> Html:
    """Text as it stands between tags and in a quoted attribute."""
    return Html(html.escape(jsontext.clean(text := str(value), 4 * len(text) + 4)))


def _attribute(name: str, value: str | int | bool | None) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(value)}"'


def _shown(child: Child) -> str:
    if child is None or isinstance(child, Html):
        return child or ""
    return escape(child) if isinstance(child, (str, int, float)) else join(*child)
