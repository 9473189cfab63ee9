"""The stand-in for Telegram answers as the Bot API does, as far as Tidemill can tell."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import requests

from local.telegram import Telegram

TAKEN = {"text": "Taken", "callback_data": "taken:17"}


@pytest.fixture
def telegram() -> Iterator[Telegram]:
    stand_in = Telegram()
    yield stand_in
    stand_in.close()


def send(telegram: Telegram, method: str = "sendMessage", **arguments: object) -> requests.Response:
    return requests.post(f"{telegram.url}/bot1:token/{method}", json=arguments, timeout=10)


def test_a_message_is_delivered_and_told() -> None:
    told: list[str] = []
    telegram = Telegram(told.append)
    answer = send(telegram, chat_id=7, text="hello")
    assert answer.json()["result"]["message_id"] == 1
    assert [(sent.chat_id, sent.text) for sent in telegram.sent] == [("7", "hello")]
    assert told == ["to 7: hello"]
    telegram.close()


def test_a_form_is_taken_too(telegram: Telegram) -> None:
    form = {"chat_id": 7, "text": "hé", "reply_markup": json.dumps({"inline_keyboard": [[TAKEN]]})}
    requests.post(f"{telegram.url}/bot1:token/sendMessage", data=form, timeout=10)
    (sent,) = telegram.sent
    assert (sent.chat_id, sent.text, sent.buttons) == ("7", "hé", [TAKEN])


def test_it_fails_so_many_times_and_recovers(telegram: Telegram) -> None:
    telegram.fail(2)
    assert [send(telegram, chat_id=1, text="x").status_code for _ in range(3)] == [502, 502, 200]
    assert (telegram.refused, len(telegram.sent)) == (2, 1)


def test_it_can_be_told_to_recover_before(telegram: Telegram) -> None:
    telegram.fail(1000, status=500)
    assert send(telegram, chat_id=1, text="x").status_code == 500
    telegram.recover()
    assert send(telegram, chat_id=1, text="x").status_code == 200


def test_it_limits_with_a_time_in_the_body(telegram: Telegram) -> None:
    """B89"""
    telegram.limit(1, retry_after=37)
    answer = send(telegram, chat_id=1, text="x")
    assert (answer.status_code, answer.json()["parameters"]) == (429, {"retry_after": 37})


@pytest.mark.parametrize("arguments", [{"chat_id": 1, "text": " "}, {"text": "x"}])
def test_a_message_without_text_or_chat_is_a_bad_request(telegram: Telegram, arguments: dict[str, object]) -> None:
    answer = send(telegram, **arguments)
    assert (answer.status_code, answer.json()["ok"]) == (400, False)
    assert telegram.sent == []


def refusal(telegram: Telegram, method: str = "sendMessage", **arguments: object) -> tuple[int, str]:
    answer = send(telegram, method, **arguments)
    return answer.status_code, answer.json()["description"]


def test_what_telegram_refuses_it_refuses(telegram: Telegram) -> None:
    """B86"""
    assert refusal(telegram, chat_id=1, text="\U0001f600" * 2049) == (400, "Bad Request: message is too long")
    keyboard = {"inline_keyboard": [[{**TAKEN, "callback_data": "é" * 33}]]}
    assert refusal(telegram, chat_id=1, text="x", reply_markup=keyboard) == (400, "Bad Request: BUTTON_DATA_INVALID")
    assert telegram.sent == []
    assert send(telegram, chat_id=1, text="\U0001f600" * 2048).status_code == 200


def test_a_person_who_blocked_the_bot_gets_nothing(telegram: Telegram) -> None:
    """B88"""
    telegram.block(7)
    assert refusal(telegram, chat_id=7, text="x") == (403, "Forbidden: bot was blocked by the user")
    assert send(telegram, chat_id=8, text="x").status_code == 200


def test_a_group_that_moved_is_told_by_its_new_id(telegram: Telegram) -> None:
    """B88"""
    telegram.move(-5, -1001)
    answer = send(telegram, chat_id=-5, text="x")
    assert (answer.status_code, answer.json()["parameters"]) == (400, {"migrate_to_chat_id": -1001})
    assert send(telegram, chat_id=-1001, text="x").status_code == 200


def test_it_keeps_where_updates_are_to_go(telegram: Telegram) -> None:
    given = {"url": "https://mill.test/", "secret_token": "a-b_C1", "allowed_updates": []}
    assert send(telegram, "setWebhook", **given).json() == {"ok": True, "result": True}
    assert telegram.webhook == given
    assert refusal(telegram, "setWebhook", **{**given, "url": "http://mill.test/"})[0] == 400
    assert refusal(telegram, "setWebhook", **{**given, "secret_token": "a b"})[0] == 400
    assert telegram.webhook == given


def test_it_tells_its_name_and_knows_no_other_method(telegram: Telegram) -> None:
    assert send(telegram, "getMe").json()["result"]["username"] == "TidemillBot"
    assert send(telegram, "dance").status_code == 404


def test_who_presses_a_button_is_answered(telegram: Telegram) -> None:
    assert send(telegram, "answerCallbackQuery", callback_query_id="1").json() == {"ok": True, "result": True}
    assert (telegram.pressed, telegram.sent) == (["1"], [])
