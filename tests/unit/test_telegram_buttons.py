"""Buttons below a message, and the answer to who presses one."""

from __future__ import annotations

import pytest
from tidemill.errors import PermanentError

from tests.unit.answers import Answers
from tests.unit.test_telegram import MOVED, bot

ROWS = [[{"text": "Taken", "callback_data": "taken:17"}], [{"text": "Junk", "callback_data": "junk:17"}]]


def test_buttons_stand_below_the_last_message() -> None:
    answers = Answers()
    bot(answers).send_message(7, "x" * 4096 + "y", {"Taken": "taken:17", "Junk": "junk:17"})
    assert [body.get("reply_markup") for body in answers.sent] == [None, {"inline_keyboard": ROWS}]


@pytest.mark.parametrize("buttons", [None, {}])
def test_without_buttons_there_is_no_keyboard(buttons: dict[str, str] | None) -> None:
    answers = Answers()
    bot(answers).send_message(7, "hello", buttons)
    assert answers.sent == [{"chat_id": 7, "text": "hello"}]


def test_a_group_that_moved_gets_the_buttons_under_its_new_id() -> None:
    answers = Answers(MOVED)
    bot(answers).send_message(-5, "hello", {"Taken": "taken:17"})
    assert answers.sent[1] == {"chat_id": -1001, "text": "hello", "reply_markup": {"inline_keyboard": ROWS[:1]}}


def test_a_press_is_answered() -> None:
    answers = Answers()
    bot(answers).answer_press("4382bfdwdsb323b2d9", "heard")
    assert str(answers.requests[0].url).endswith("/answerCallbackQuery")
    assert answers.sent == [{"callback_query_id": "4382bfdwdsb323b2d9", "text": "heard"}]


@pytest.mark.parametrize("data", ["x", "x" * 64, "\u00e9" * 32])
def test_a_button_carries_up_to_64_bytes(data: str) -> None:
    answers = Answers()
    bot(answers).send_message(7, "hello", {"Taken": data})
    assert answers.sent[0]["reply_markup"]["inline_keyboard"] == [[{"text": "Taken", "callback_data": data}]]


@pytest.mark.parametrize(("data", "size"), [("", 0), ("x" * 65, 65), ("\u00e9" * 33, 66)])
def test_a_button_with_too_much_data_or_none_is_refused_before_anything_is_sent(data: str, size: int) -> None:
    answers = Answers()
    with pytest.raises(PermanentError, match=rf"^the button 'Taken' has {size} bytes of data: Telegram takes 1 to 64$"):
        bot(answers).send_message(7, "x" * 5000, {"Junk": "junk:17", "Taken": data})
    assert answers.requests == []


def test_of_a_long_answer_200_characters_are_shown() -> None:
    answers = Answers()
    bot(answers).answer_press("1", "x" * 201)
    assert answers.sent[0]["text"] == "x" * 200
