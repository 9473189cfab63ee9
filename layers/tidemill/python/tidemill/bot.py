"""A bot in Telegram: what its users tell it becomes jobs. https://core.telegram.org/bots/api#update

An update of a kind that is not spoken of here is stored, and that is all: an edited message, what happens in a channel, who
joined or left, and whatever Telegram will come up with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from tidemill import handlers
from tidemill.errors import ConfigurationError, PermanentError
from tidemill.model import Event, Job, NewJob
from tidemill.outcome import Discard
from tidemill.source import Source

if TYPE_CHECKING:
    from tidemill.context import Context

F = TypeVar("F", bound=Callable[..., Any])

_name = re.compile("[a-z0-9_]{1,32}")
# In a group a command may name the bot that it is for: /ping@OurBot.
_command = re.compile(r"/(\w{1,32})(?:@(\w+))?(?=\s|$)", re.ASCII)


class Bot:
    """The bot whose updates come in by `source`. Beside its commands it answers whoever presses a button, so that the button
    comes to rest (what a press means is for a route to say), and tells when the chat of the alerts has another id."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._commands: set[str] = set()
        # No command can have a hyphen in its name.
        self._pressed = self._handle("button-pressed", _rest)
        self._moved = self._handle("chat-moved", _tell_of_new_id)
        source.route(self._jobs)

    def command(self, name: str, **options: Any) -> Callable[[F], F]:
        """Declare the function that runs /name, in any case, when a new message or a caption begins with it and it names no
        other bot: `(job, ctx)`, with `options` as `handler` has them.

        The payload is {"chat_id", "user_id" (null where nobody is told), "text" (what follows the command), "bot" (the name
        that it was given, or null)}. Raises ConfigurationError that names the command.
        """
        if not isinstance(name, str) or not _name.fullmatch(name):
            raise ConfigurationError(f"command {name!r}: a command is 1 to 32 of a-z, 0-9 and _")
        self._commands.add(name)

        def declare(function: F) -> F:
            @wraps(function)
            def run(job: Job, ctx: Context) -> Any:
                bot = job.payload["bot"]
                if bot and not _is_ours(bot, ctx):
                    return Discard(f"the command is for the bot {bot}")
                return function(job, ctx)

            handlers.handler(f"{self._source.name}.{name}", **options)(run)
            return function

        return declare

    def _jobs(self, event: Event) -> Iterator[NewJob]:
        match event.json:
            case {"message": {"chat": {"id": int(chat_id)}} as message}:
                yield from self._of_message(chat_id, message)
            case {"callback_query": {"id": str(press)}}:
                yield NewJob(self._pressed, {"press": press})

    def _of_message(self, chat_id: int, message: dict[str, Any]) -> Iterator[NewJob]:
        match message:
            case {"migrate_to_chat_id": int(new_id)}:
                yield NewJob(self._moved, {"old": chat_id, "new": new_id}, key=chat_id)
            case {"text": str(text)} | {"caption": str(text)}:
                found = _command.match(text)
                if found and (name := found[1].lower()) in self._commands:
                    sender = message.get("from")
                    user_id = sender.get("id") if isinstance(sender, dict) else None
                    rest = text[found.end() :].strip()
                    payload = {"chat_id": chat_id, "user_id": user_id, "text": rest, "bot": found[2]}
                    yield NewJob(f"{self._source.name}.{name}", payload)

    def _handle(self, name: str, function: Callable[[Job, Context], Any]) -> str:
        """Declare what runs jobs of a kind of the bot's own; returns the kind."""

        @wraps(function)
        def run(job: Job, ctx: Context) -> Any:
            return function(job, ctx)

        run.__module__ = self._source.module  # so that it is loaded with the automation that made the bot
        kind = f"{self._source.name}.{name}"
        handlers.handler(kind, timeout=30)(run)
        return kind


def _is_ours(bot: str, ctx: Context) -> bool:
    """Whether this is our bot's name; not, where Telegram does not tell our name: silence is better than two answers."""
    try:
        return bot.lower() == ctx.telegram.bot_name().lower()
    except PermanentError:
        return False


def _rest(job: Job, ctx: Context) -> Discard | None:
    try:
        ctx.telegram.answer_press(job.payload["press"])
    except PermanentError as error:
        return Discard(str(error))  # too late: the button is at rest by now
    return None


def _tell_of_new_id(job: Job, ctx: Context) -> None:
    old, new = job.payload["old"], job.payload["new"]
    ctx.log.warning("a Telegram chat has a new id: put it where the old one stands", old=old, new=new)
    if str(old) == ctx.settings.get("TELEGRAM_ALERT_CHAT_ID"):
        text = f"This chat has become a supergroup: put its new id {new} into TELEGRAM_ALERT_CHAT_ID."
        ctx.telegram.send_message(new, text)
