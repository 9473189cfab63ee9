"""The pieces that views are put together from. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidemill import jsontext
from tidemill.console.html import Child, Html, join, tag

LONGEST = 20_000  # characters of a payload or a body that are shown
LONGEST_SUMMARY = 200  # characters of an error that are shown before it is opened

_LOOKS = {"failed": "bad", "running": "busy", "pending": "waits", "done": "good"}


def section(title: str, *children: Child, buttons: Child = None) -> Html:
    return tag("section", tag("div", tag("h3", title), tag("div", buttons, class_="buttons"), class_="head"), *children)


def table(columns: Sequence[str], rows: Iterable[Sequence[Child]], look: str = "wide") -> Html:
    """One row a line. Where there is little room, each cell of a wide one becomes a line that begins with the name of its
    column; one that is narrow stays."""
    head = tag("tr", [tag("th", column, scope="col") for column in columns])
    lines = [tag("tr", [tag("td", cell, data_label=name) for name, cell in zip(columns, row, strict=True)]) for row in rows]
    return tag("table", tag("thead", head), tag("tbody", lines), class_=look)


def facts(values: Mapping[str, Child]) -> Html:
    """Names and values; what is null or '' is left out."""
    said = {name: value for name, value in values.items() if value not in (None, "")}
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in said.items()])


def badge(status: str) -> Html:
    return tag("span", status, class_=f"badge {_LOOKS.get(status, 'over')}")


def notice(look: str, *children: Child) -> Html:
    """What the page has to say: `look` is good, bad or plain. Screen readers read it out when it appears."""
    return tag("div", *children, class_=f"notice {look}", role="alert" if look == "bad" else "status")


def empty(*children: Child) -> Html:
    """Stands where there is nothing, and says whether that is well."""
    return tag("p", *children, class_="empty")


def quiet(*children: Child) -> Html:
    """What is beside the point."""
    return tag("span", *children, class_="quiet")


def error(error_class: str | None, text: str | None) -> Html:
    """An error: its class, and its text, which opens where it is long."""
    name, said = tag("strong", error_class or "Error"), text or ""
    first = said.partition("\n")[0][:LONGEST_SUMMARY]
    if first == said:
        return tag("div", name, " ", said, class_="error")
    return tag("details", tag("summary", name, " ", first, " \u2026"), tag("pre", said), class_="error")


def data(value: Any, text: str | None = None) -> Html:
    """A JSON value, indented, or the text that stands for one which cannot be shown as JSON."""
    return long(text if text is not None else json.dumps(value, ensure_ascii=False, indent=2))


def body(event: Mapping[str, Any]) -> Html:
    """The body of an event as `show` has it: JSON indented, other text as it is, and bytes in base64."""
    if (text := event.get("body")) is None:
        return join(quiet("no text, so in base64"), long(event["body_base64"]))
    try:
        return data(jsontext.loads(text))
    except ValueError:
        return long(text) if text else empty("It is empty.")


def long(text: str) -> Html:
    cut = quiet(f"The first {LONGEST:,} of {len(text):,} characters.") if len(text) > LONGEST else None
    return join(tag("pre", text[:LONGEST]), cut)


def bar(values: Mapping[str, float], most: float) -> Html:
    """A bar of parts, by the name of their look, in proportion to `most`. For the eye only: numbers stand beside it."""
    drawn, left = [], 0.0
    for look, value in values.items():
        width = 100 * value / most
        drawn.append(tag("rect", class_=look, x=f"{left:.2f}", y=0, width=f"{width:.2f}", height=6))
        left += width
    return tag("svg", drawn, class_="bar", viewBox="0 0 100 6", preserveAspectRatio="none", aria_hidden="true")


def field(label: str, name: str, value: str | None, choices: Mapping[str, str] | None = None, hint: str = "") -> Html:
    """A text field, or where `choices` (label by value) are given, one to choose from them."""
    if choices is None:
        inside = text_field(name=name, value=value or "", placeholder=hint)
    else:
        options = [tag("option", said, value=one, selected=one == (value or "")) for one, said in choices.items()]
        inside = tag("select", options, name=name)
    return tag("label", tag("span", label), inside)


def text_field(**attributes: str | bool) -> Html:
    return tag("input", type="text", autocomplete="off", spellcheck="false", **attributes)
