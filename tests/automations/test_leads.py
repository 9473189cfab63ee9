"""Leads: a card, and whoever presses "Taken" within a quarter of an hour; the clock is moved by hand."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from automations.telegram import telegram as source
from tidemill.app import App
from tidemill.model import Event, NewJob, Signal
from tidemill.source import route
from tidemill.wire import Connection

from tests.automations.conftest import SECRETS, FakeTelegram
from tests.queue.test_worker import row
from tests.queue.workflows import history, pass_time

LEAD = {"type": "lead", "name": "Ada", "message": "Is the mill open on Sunday?"}
ANSWERED = NewJob("telegram.button-pressed", {"press": "press-1"})
CARD = {
    "chat_id": "-7",
    "text": "Lead 1: Ada\n\nIs the mill open on Sunday?",
    "reply_markup": {"inline_keyboard": [[{"text": "Taken", "callback_data": "taken:1"}]]},
}


def post(machine: App, source: str, body: Any) -> None:
    text = json.dumps(body)
    signature = hmac.new(SECRETS["SITE_WEBHOOK_SECRET"].encode(), text.encode(), hashlib.sha256).hexdigest()
    headers = {"x-signature": signature, "x-telegram-bot-api-secret-token": SECRETS["TELEGRAM_WEBHOOK_SECRET"]}
    http = {"method": "POST", "path": f"/hooks/{source}", "sourceIp": "203.0.113.7"}
    event = {"version": "2.0", "rawPath": http["path"], "headers": headers, "requestContext": {"http": http}, "body": text}
    assert machine.intake.handle(event, None)["statusCode"] == 202


def press(data: Any = "taken:1", name: str = "Ann", number: int = 1) -> dict[str, Any]:
    """A pressed button, as Telegram tells it: https://core.telegram.org/bots/api#callbackquery"""
    sender = {"id": 5, "is_bot": False, "first_name": name}
    message = {"message_id": 9, "date": 1, "chat": {"id": -7, "type": "group"}, "text": "Lead 1"}
    query = {"id": f"press-{number}", "from": sender, "message": message, "data": data}
    return {"update_id": number, "callback_query": query}


def drain(machine: App) -> None:
    machine.drain.handle({}, None)


def texts(telegram: FakeTelegram) -> list[str]:
    return [body["text"] for method, body in telegram.asked if method == "sendMessage"]


def test_a_form_becomes_a_card_with_a_button(machine: App, telegram: FakeTelegram, connection: Connection) -> None:
    post(machine, "site", LEAD)
    drain(machine)
    assert telegram.asked == [("sendMessage", CARD)]
    waits = "run_at between now() + interval '14 minutes' and now() + interval '15 minutes'"
    assert row(connection, 1, f"kind, status, {waits}") == ("lead", "pending", True)


def test_nobody_presses_and_there_is_one_reminder(machine: App, telegram: FakeTelegram, connection: Connection) -> None:
    post(machine, "site", LEAD)
    for _ in range(3):
        drain(machine)
        pass_time(connection)
    assert texts(telegram)[1:] == ["Lead 1 has been waiting for 15 minutes: Ada"]
    assert row(connection, 1, "status, attempts") == ("done", 1)


def test_who_presses_in_time_is_named_and_there_is_no_reminder(
    machine: App, telegram: FakeTelegram, connection: Connection
) -> None:
    post(machine, "site", LEAD)
    drain(machine)
    post(machine, "telegram", press(name="Ann", number=1))
    post(machine, "telegram", press(name="Bob", number=2))
    drain(machine), pass_time(connection), drain(machine)
    assert texts(telegram)[1:] == ["Lead 1 is taken by Ann"]
    pressed = [body["callback_query_id"] for method, body in telegram.asked if method == "answerCallbackQuery"]
    assert sorted(pressed) == ["press-1", "press-2"]
    assert [name for _, _, name, _ in history(connection, 1)] == ["card", "taken:1", "thanks"]
    assert connection.execute("select distinct status from jobs").fetchall() == [("done",)]


def test_a_press_after_the_reminder_is_answered_and_changes_nothing(
    machine: App, telegram: FakeTelegram, connection: Connection
) -> None:
    post(machine, "site", LEAD)
    drain(machine), pass_time(connection), drain(machine)
    before = texts(telegram)
    post(machine, "telegram", press())
    drain(machine)
    assert texts(telegram) == before
    assert telegram.asked[-1][0] == "answerCallbackQuery"


@pytest.mark.parametrize("data", ["taken:", "taken:1;2", "taken:x", "other:1", "xtaken:1", None, 5])
def test_another_button_is_none_of_ours_and_only_answered(data: Any) -> None:
    assert routed(press(data)) == ([ANSWERED], None)


def test_a_press_is_a_signal_and_is_answered() -> None:
    assert routed(press()) == ([ANSWERED, Signal("taken:1", {"by": "Ann"})], None)


def routed(update: Any) -> Any:
    return route(source, Event(1, "telegram", {}, json.dumps(update).encode(), datetime.now(UTC)), {})


@pytest.mark.parametrize("lead", [{"type": "lead", "name": "Ada"}, {**LEAD, "message": 5}])
def test_a_lead_without_its_texts_is_a_route_error(machine: App, connection: Connection, lead: dict[str, Any]) -> None:
    post(machine, "site", lead)
    ((error,),) = connection.execute("select route_error from events").fetchall()
    assert error == "ValueError: name and message of a lead must be texts"
