"""The console page as a dashboard has it: what is shown, and which buttons there are."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any, NamedTuple

from functions.console.app import handler

ARN = "arn:aws:lambda:eu-south-1:123456789012:function:tidemill-console"
CONTEXT = SimpleNamespace(invoked_function_arn=ARN)


class Button(NamedTuple):
    """`event` is what the function is called with when it is pressed, after `confirmation` was answered."""

    label: str
    event: dict[str, Any]
    confirmation: str | None


class Shown(HTMLParser):
    """A page, parsed. `structure` is all of it but its text and the values of attributes that may hold data."""

    DATA = ("title", "datetime", "confirmation", "value", "width", "x")  # of attributes

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.structure: list[tuple[str, ...]] = []
        self.text = ""
        self.buttons: list[Button] = []
        self._inside = ""
        self._label = ""
        self._action: dict[str, str | None] = {}
        self._json = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.structure.append((tag, *(name if name in self.DATA else f"{name}={value}" for name, value in attrs)))
        self._inside = tag
        if tag == "button":
            self._label = ""
        if tag == "cwdb-action":
            self._action, self._json = dict(attrs), ""

    def handle_endtag(self, tag: str) -> None:
        self.structure.append((f"/{tag}",))
        self._inside = ""
        if tag == "cwdb-action":
            assert (self._action["action"], self._action["display"], self._action["endpoint"]) == ("call", "widget", ARN)
            self.buttons.append(Button(self._label, json.loads(self._json), self._action.get("confirmation")))

    def handle_data(self, data: str) -> None:
        if self._inside == "cwdb-action":
            self._json += data
        elif self._inside != "style":
            self.text += data
        if self._inside == "button":
            self._label += data

    def handle_comment(self, data: str) -> None:
        self.structure.append(("comment", data))

    def handle_decl(self, decl: str) -> None:
        self.structure.append(("declaration", decl))

    def handle_pi(self, data: str) -> None:
        self.structure.append(("instruction", data))

    def button(self, label: str, **event: Any) -> Button:
        """The only button with this label whose event has these fields."""
        found = [one for one in self.buttons if one.label == label and event.items() <= one.event.items()]
        assert len(found) == 1, (label, event, [one.label for one in self.buttons])
        return found[0]


def shown(event: object = None, /, **fields: Any) -> Shown:
    """The page that the function answers to an event."""
    page = handler(fields if event is None else event, CONTEXT)
    assert isinstance(page, str)
    assert json.loads(json.dumps(page)) == page
    return Shown(page)


def press(button: Button, **typed: str) -> Shown:
    """The page after a press, with what stands in the fields of the one before."""
    return shown({**button.event, "widgetContext": {"forms": {"all": typed}, "params": {}}})
