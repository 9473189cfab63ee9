from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from automations.telegram import pong, telegram
from tidemill import Discard, gateway
from tidemill.app import App
from tidemill.db import Connection
from tidemill.errors import PermanentError, RateLimited
from tidemill.model import Accepted, Event, Job, NewJob, Refused, Request
from tidemill.source import route

from tests.automations.conftest import SECRETS, FakeTelegram, job, sample


def routed(update: Any) -> list[NewJob]:
    jobs, error = route(telegram, Event(1, "telegram", {}, json.dumps(update).encode(), datetime.now(UTC)), {})
    assert error is None
    return jobs


def message(text: Any) -> dict[str, Any]:
    return {"update_id": 1, "message": {"message_id": 1, "chat": {"id": -5, "type": "group"}, "text": text}}


class Bot:
    def __init__(self, name: str | Exception = "OurBot") -> None:
        self.sent: list[tuple[int, str]] = []
        self._name = name

    def send_message(self, chat_id: int, text: str) -> None:
        self.sent.append((chat_id, text))

    def bot_name(self) -> str:
        if isinstance(self._name, Exception):
            raise self._name
        return self._name


class Ctx:
    def __init__(self, bot: Bot) -> None:
        self.telegram = bot


def ping(bot: str | None) -> Job:
    return job("telegram.ping", {"chat_id": -5, "bot": bot})


def test_the_sample_delivery_is_genuine_and_its_key_is_the_update_id() -> None:
    assert telegram.check(gateway.request_of(sample("intake-telegram")), SECRETS, 0) == Accepted("730184201")


@pytest.mark.parametrize("secret", ["", "telegram-test-secreT", "\u00e9", None])
def test_an_update_without_the_secret_is_refused(secret: str | None) -> None:
    headers = [] if secret is None else [("X-Telegram-Bot-Api-Secret-Token", secret)]
    assert isinstance(telegram.check(Request("POST", "https://mill.test/", headers, b"{}"), SECRETS, 0), Refused)


@pytest.mark.parametrize(
    ("text", "bot"),
    [
        ("/ping", None),
        ("/PING", None),
        ("/ping now", None),
        ("/ping\n", None),
        ("/ping@OurBot", "OurBot"),
        ("/PING@ourbot x", "ourbot"),
    ],
)
def test_a_ping_makes_a_job(text: str, bot: str | None) -> None:
    """B91"""
    assert routed(message(text)) == [NewJob("telegram.ping", {"chat_id": -5, "bot": bot})]


@pytest.mark.parametrize(
    "text", ["/pingx", "/ping@", "/ping@OurBot!", "ping", " /ping", "say /ping", "/pin", "/ping-", "", None, 5, {}]
)
def test_what_only_resembles_a_ping_makes_none(text: Any) -> None:
    """B91"""
    assert routed(message(text)) == []


CHAT = {"id": -5, "type": "group"}


@pytest.mark.parametrize(
    "update",
    [
        {"update_id": 1, "edited_message": {"chat": CHAT, "text": "/ping"}},
        {"update_id": 1, "channel_post": {"chat": CHAT, "text": "/ping"}},
        {"update_id": 1, "my_chat_member": {"chat": CHAT, "new_chat_member": {"status": "kicked"}}},
        {"update_id": 1, "message": {"chat": CHAT, "sticker": {"emoji": "x"}}},
        {"update_id": 1, "message": {"chat": CHAT, "photo": [], "caption": "/ping"}},
        {"update_id": 1, "message": {"text": "/ping"}},
        {"update_id": 1, "message": {"chat": None, "text": "/ping"}},
        {"update_id": 1, "message": {"chat": {"id": "five"}, "text": "/ping"}},
        {"update_id": 1, "callback_query": {"data": "/ping"}},
        {"update_id": 1, "something_new": {"text": "/ping"}},
        {"update_id": 1, "message": None},
        {"update_id": 1, "message": []},
        {"update_id": None},
        {},
        [],
        None,
        "update",
    ],
)
def test_every_other_update_is_stored_and_that_is_all(update: Any) -> None:
    """B90"""
    assert routed(update) == []


def test_a_ping_to_nobody_is_answered() -> None:
    """B91"""
    bot = Bot()
    assert pong(ping(None), Ctx(bot)) is None
    assert bot.sent == [(-5, "pong")]


@pytest.mark.parametrize("name", ["OurBot", "ourbot", "OURBOT"])
def test_a_ping_to_our_bot_is_answered(name: str) -> None:
    """B91"""
    bot = Bot("OurBot")
    pong(ping(name), Ctx(bot))
    assert bot.sent == [(-5, "pong")]


@pytest.mark.parametrize("ours", ["OurBot", "", PermanentError("404")])
def test_a_ping_to_another_bot_or_while_we_do_not_know_our_name_is_left_alone(ours: str | Exception) -> None:
    """B91"""
    bot = Bot(ours)
    assert pong(ping("OtherBot"), Ctx(bot)) == Discard("the command is for the bot OtherBot")
    assert bot.sent == []


def test_a_name_that_cannot_be_asked_for_now_is_asked_for_again() -> None:
    with pytest.raises(RateLimited):
        pong(ping("OurBot"), Ctx(Bot(RateLimited(3))))


def test_a_ping_is_answered_with_pong_by_the_whole_machine(
    machine: App, telegram: FakeTelegram, connection: Connection
) -> None:
    answer = machine.intake.handle(sample("intake-telegram"), None)
    assert (answer["statusCode"], json.loads(answer["body"])["jobs"]) == (202, 1)
    assert json.loads(machine.intake.handle(sample("intake-telegram"), None)["body"])["duplicate"] is True
    assert machine.drain.handle({}, None)["done"] == 1
    assert telegram.asked == [("sendMessage", {"chat_id": 1870042, "text": "pong"})]
    ((headers,),) = connection.execute("select headers::text from events").fetchall()
    assert "telegram-test-secret" not in headers


@pytest.mark.parametrize(("name", "asked"), [("OurBot", ["getMe", "sendMessage"]), ("OtherBot", ["getMe"])])
def test_the_whole_machine_knows_its_name(machine: App, telegram: FakeTelegram, name: str, asked: list[str]) -> None:
    """B91"""
    event = sample("intake-telegram")
    event["body"] = event["body"].replace("/ping", f"/ping@{name}")
    machine.intake.handle(event, None)
    machine.drain.handle({}, None)
    assert [method for method, _ in telegram.asked] == asked


def test_with_the_database_away_telegram_is_asked_to_send_again(machine: App, connection: Connection) -> None:
    """B90"""
    connection.execute("alter table events rename to away")
    answer = machine.intake.handle(sample("intake-telegram"), None)
    assert answer["statusCode"] == 503
