"""What a view is made with: the operator's commands, the time, and the elements that call this function again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tidemill.console.html import Html, action, join, tag
from tidemill.errors import CommandError

Answer = dict[str, Any]

NEVER = "9999-"  # how an instant begins that stands for no end


@dataclass(frozen=True)
class Page:
    """`run` carries an operator's command out; `endpoint` is the ARN of this function, for buttons; `now` is aware."""

    run: Callable[[Answer], Answer]
    endpoint: str
    now: datetime

    def ask(self, command: str, **fields: Any) -> Answer:
        """The answer to a command. Raises CommandError where it was refused."""
        return self.send({"command": command, **fields})

    def send(self, command: Answer) -> Answer:
        """The same of a whole command."""
        answer = self.run(command)
        if not answer["ok"]:
            error = answer["error"]
            raise CommandError(error["code"], error["message"], error["field"])
        return answer

    def button(self, label: str, event: Mapping[str, Any], *, confirm: str | None = None, look: str = "") -> Html:
        """A button that shows the view of `event`. One with a command in `do` changes something, so it asks `confirm` first.
        `look` is primary, danger, or tab."""
        assert ("do" in event) == (confirm is not None), label
        return join(
            tag("button", label, type="button", class_=f"button {look}".strip()), action(self.endpoint, event, confirm)
        )

    def link(self, label: str | int, event: Mapping[str, Any], *, current: bool = False) -> Html:
        """A button that looks like a link: it shows the view of `event`."""
        mark = "page" if current else None
        return join(tag("button", label, type="button", class_="link", aria_current=mark), action(self.endpoint, event))

    def job(self, number: int) -> Html:
        return self.link(f"job {number}", {"view": "job", "job": number})

    def event(self, number: int) -> Html:
        return self.link(f"event {number}", {"view": "event", "event": number})

    def time(self, text: str | None) -> Html:
        """An instant as people think of it (4 min ago), exact where the pointer rests; '' where it is null."""
        if text is None:
            return Html()
        if (at := instant(text)) is None:
            return tag("time", "for ever" if text.startswith(NEVER) else text)
        exact = f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        return tag("time", ago((self.now - at).total_seconds()), datetime=text, title=exact)

    def is_past(self, text: str) -> bool:
        return (at := instant(text)) is not None and at <= self.now


def instant(text: str) -> datetime | None:
    """None for what Postgres can hold and a datetime cannot, and for the year that stands for no end."""
    try:
        return None if text.startswith(NEVER) else datetime.fromisoformat(text)
    except ValueError:
        return None


def ago(seconds: float) -> str:
    """How long ago, or where negative in how long."""
    if -1 < seconds < 1:
        return "now"
    said = span(abs(seconds))
    return f"{said} ago" if seconds > 0 else f"in {said}"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def span(seconds: float) -> str:
    """How long, in the largest unit of which it is two at least: 95 s, 12 min, 36 h, 4 days."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(seconds, 1):.0f} s"
