"""The stand-in for Telegram answers as the Bot API does, as far as Tidemill can tell."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests

from local.telegram import Sent, Telegram


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
    requests.post(f"{telegram.url}/bot1:token/sendMessage", data={"chat_id": 7, "text": "hé"}, timeout=10)
    assert telegram.sent[0][:2] == Sent("7", "hé", 0)[:2]


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


def test_it_tells_its_name_and_knows_no_other_method(telegram: Telegram) -> None:
    assert send(telegram, "getMe").json()["result"]["username"] == "TidemillBot"
    assert send(telegram, "dance").status_code == 404


def test_who_presses_a_button_is_answered(telegram: Telegram) -> None:
    assert send(telegram, "answerCallbackQuery", callback_query_id="1").json() == {"ok": True, "result": True}
    assert telegram.sent == []
