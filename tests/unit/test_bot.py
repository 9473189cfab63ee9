"""A bot's updates: which become jobs, and what its own jobs do."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from tidemill import handlers
from tidemill.bot import Bot
from tidemill.errors import ConfigurationError, PermanentError, RateLimited, RequestFailed
from tidemill.model import Accepted, Event, Job, NewJob, Yielded
from tidemill.outcome import Discard
from tidemill.settings import Settings
from tidemill.source import Source, route
from tidemill.telemetry import Log

chat = Source("chat", verify=lambda request, settings, now: Accepted())
bot = Bot(chat)


@bot.command("ping", timeout=30, limit=("chat", 2))
def ping(job: Any, ctx: Any) -> str:
    return f"pong {job.payload['text']}"


@bot.command("set_up2")
def set_up(job: Any, ctx: Any) -> None: ...


HANDLERS = handlers.by_kind(handlers.declared.of([__name__]))
CHAT = {"id": -5, "type": "group"}


def routed(update: Any) -> list[Yielded]:
    jobs, error = route(chat, Event(1, "chat", {}, json.dumps(update).encode(), datetime.now(UTC)), {})
    assert error is None
    return jobs


def message(text: Any, **more: Any) -> dict[str, Any]:
    sender = {"id": 41, "is_bot": False, "first_name": "Ada"}
    return {"update_id": 1, "message": {"message_id": 1, "from": sender, "chat": CHAT, "text": text, **more}}


def command(kind: str = "chat.ping", text: str = "", name: str | None = None, user_id: Any = 41) -> NewJob:
    return NewJob(kind, {"chat_id": -5, "user_id": user_id, "text": text, "bot": name})


# Which updates


@pytest.mark.parametrize(
    ("text", "job"),
    [
        ("/ping", command()),
        ("/PING", command()),
        ("/ping now  or never ", command(text="now  or never")),
        ("/ping\n/ping", command(text="/ping")),
        ("/ping@OurBot", command(name="OurBot")),
        ("/PING@ourbot x", command(text="x", name="ourbot")),
        ("/set_up2 \U0001f600", command("chat.set_up2", text="\U0001f600")),
    ],
)
def test_a_command_is_a_job(text: str, job: NewJob) -> None:
    """B91"""
    assert routed(message(text)) == [job]
    assert routed({"message": {"from": {"id": 41}, "chat": CHAT, "photo": [], "caption": text}}) == [job]


@pytest.mark.parametrize("sender", [None, 5, {}, {"id": None}])
def test_a_command_of_nobody_is_one_too(sender: Any) -> None:
    assert routed({"message": {"from": sender, "chat": CHAT, "text": "/ping"}}) == [command(user_id=None)]
    assert routed({"message": {"chat": CHAT, "text": "/ping"}}) == [command(user_id=None)]


@pytest.mark.parametrize(
    "text",
    [
        *("/pingx", "/ping@", "/ping@OurBot!", "ping", " /ping", "say /ping", "/pin", "/ping-", "/", "", None, 5, {}),
        *("/ping/", "/p\u0456ng", "/ping@\u0411\u043e\u0442", "/other", "/button-pressed", "/" + "x" * 99),
    ],
)
def test_what_only_resembles_a_command_is_none(text: Any) -> None:
    """B91"""
    assert routed(message(text)) == []


@pytest.mark.parametrize(
    "update",
    [
        {"edited_message": {"chat": CHAT, "text": "/ping"}},
        {"channel_post": {"chat": CHAT, "text": "/ping"}},
        {"edited_channel_post": {"chat": CHAT, "text": "/ping"}},
        {"my_chat_member": {"chat": CHAT, "new_chat_member": {"status": "kicked"}}},
        {"chat_member": {"chat": CHAT, "new_chat_member": {"status": "member"}}},
        {"message": {"chat": CHAT, "sticker": {"emoji": "x"}}},
        {"message": {"chat": CHAT, "new_chat_members": [{"id": 1}]}},
        {"message": {"chat": CHAT, "migrate_from_chat_id": -4}},
        {"message": {"chat": CHAT, "migrate_to_chat_id": "-1001"}},
        {"message": {"migrate_to_chat_id": -1001}},
        {"message": {"text": "/ping"}},
        {"message": {"chat": None, "text": "/ping"}},
        {"message": {"chat": {"id": "five"}, "text": "/ping"}},
        {"callback_query": {"data": "/ping"}},
        {"callback_query": None},
        {"inline_query": {"id": "1", "query": "/ping"}},
        {"something_new": {"text": "/ping"}},
        {"message": None},
        {"message": []},
        {"update_id": None},
        {},
        [],
        None,
        "update",
    ],
)
def test_every_other_update_is_no_job_and_no_error(update: Any) -> None:
    """B90"""
    assert routed(update) == []


@pytest.mark.parametrize("more", [{}, {"data": "taken:17"}, {"game_short_name": "chess"}, {"message": None}])
def test_every_press_is_answered(more: dict[str, Any]) -> None:
    press = {"callback_query": {"id": "4382", "from": {"id": 41}, **more}}
    assert routed(press) == [NewJob("chat.button-pressed", {"press": "4382"})]


def test_a_group_that_has_moved_is_a_job_once() -> None:
    """B88"""
    moved = {"message": {"chat": CHAT, "migrate_to_chat_id": -1001}}
    assert routed(moved) == [NewJob("chat.chat-moved", {"old": -5, "new": -1001}, key=-5)]


# What is declared


def test_the_options_are_those_of_the_handler() -> None:
    kinds = {kind: (one.timeout, one.limit_name) for kind, one in HANDLERS.items()}
    own = {"chat.button-pressed": (30, ""), "chat.chat-moved": (30, "")}
    assert kinds == {"chat.ping": (30, "chat"), "chat.set_up2": (60, ""), **own}


@pytest.mark.parametrize("name", ["", "Ping", "/ping", "ping pong", "p-ing", "x" * 33, "pïng", None, 5])
def test_a_name_that_telegram_has_no_command_for_is_refused(name: Any) -> None:
    with pytest.raises(ConfigurationError, match="a command is 1 to 32 of a-z, 0-9 and _"):
        bot.command(name)


def test_the_same_command_twice_is_refused_at_load() -> None:
    def again(job: Any, ctx: Any) -> None: ...

    twice = [*HANDLERS.values(), handlers.Handler("chat.ping", again)]
    with pytest.raises(ConfigurationError, match=r"'chat\.ping' has two handlers: .*test_bot\.ping and .*again"):
        handlers.by_kind(twice)


def test_a_decorated_function_stays_plain() -> None:
    assert ping(Job(1, "", {"text": "x"}, 1, 8, None, None, None, ""), None) == "pong x"


# What its jobs do


class Ctx:
    """A context whose Telegram is itself: does what it is told, or raises `error`."""

    def __init__(self, name: str = "OurBot", error: Exception | None = None, **settings: str) -> None:
        self.telegram = self
        self.settings = Settings(settings)
        self.log = Log()
        self.said: list[tuple[Any, ...]] = []
        self._name = name
        self._error = error

    def bot_name(self) -> str:
        if self._error:
            raise self._error
        return self._name

    def answer_press(self, press: str) -> None:
        if self._error:
            raise self._error
        self.said.append((press,))

    def send_message(self, chat_id: int, text: str) -> None:
        self.said.append((chat_id, text))


def run(new: NewJob, ctx: Ctx) -> Any:
    return HANDLERS[new.kind].function(Job(1, new.kind, new.payload, 1, 8, None, None, "c-1", ""), ctx)


@pytest.mark.parametrize("name", [None, "OurBot", "ourbot", "OURBOT"])
def test_a_command_to_us_or_to_nobody_runs(name: str | None) -> None:
    """B91"""
    assert run(command(text="x", name=name), Ctx("OurBot")) == "pong x"


@pytest.mark.parametrize("ctx", [Ctx("OurBot"), Ctx(""), Ctx(error=PermanentError("404"))])
def test_a_command_to_another_bot_or_while_we_do_not_know_our_name_does_not(ctx: Ctx) -> None:
    """B91"""
    assert run(command(name="OtherBot"), ctx) == Discard("the command is for the bot OtherBot")


def test_a_name_that_cannot_be_asked_for_now_is_asked_for_again() -> None:
    """B91"""
    with pytest.raises(RateLimited):
        run(command(name="OurBot"), Ctx(error=RateLimited(3)))


PRESSED = NewJob("chat.button-pressed", {"press": "4382"})


def test_a_button_comes_to_rest() -> None:
    ctx = Ctx()
    assert (run(PRESSED, ctx), ctx.said) == (None, [("4382",)])


def test_an_answer_that_comes_too_late_is_nobodys_trouble() -> None:
    assert run(PRESSED, Ctx(error=PermanentError("query is too old"))) == Discard("query is too old")
    with pytest.raises(RequestFailed):
        run(PRESSED, Ctx(error=RequestFailed("status 502")))


@pytest.mark.parametrize(("alerts", "told"), [("-5", True), ("-6", False), ("", False)])
def test_where_the_alerts_go_it_is_said_that_the_setting_must_change(
    alerts: str, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """B88"""
    ctx = Ctx(TELEGRAM_ALERT_CHAT_ID=alerts)
    run(NewJob("chat.chat-moved", {"old": -5, "new": -1001}), ctx)
    text = "This chat has become a supergroup: put its new id -1001 into TELEGRAM_ALERT_CHAT_ID."
    assert ctx.said == ([(-1001, text)] if told else [])
    line = json.loads(capsys.readouterr().out)
    assert (line["level"], line["old"], line["new"]) == ("WARNING", -5, -1001)
