from __future__ import annotations

import json
import socket
import traceback
from typing import Any
from urllib.parse import quote

import pytest
import requests
from tidemill import http
from tidemill.errors import ConfigurationError, PermanentError, RateLimited, RequestFailed
from tidemill.settings import Settings
from tidemill.telegram import Telegram

from tests.unit.answers import Answers

TOKEN = "123456:AA-secret_token/with+odd=signs"
MOVED = (400, {"ok": False, "description": "group migrated", "parameters": {"migrate_to_chat_id": -1001}})


def bot(answers: Answers, **settings: str) -> Telegram:
    return Telegram(Settings({"TELEGRAM_BOT_TOKEN": TOKEN, **settings}), answers.on(http.session()))


def failure(answers: Answers, **settings: str) -> BaseException:
    with pytest.raises(Exception) as raised:
        bot(answers, **settings).send_message(7, "hello")
    return raised.value


def everything_about(error: BaseException | None) -> str:
    """What any log could show of an error, with all that hangs on it."""
    shown = ""
    while error is not None:
        shown += "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error)) + repr(error.args)
        error = error.__cause__ or error.__context__
    return shown


def test_a_message_is_one_post_with_the_chat_and_the_text_and_no_markup() -> None:
    answers = Answers()
    bot(answers).send_message(7, "_Foo*[x <tag> & `")
    (request,) = answers.requests
    assert request.method == "POST"
    assert request.url is not None and request.url.startswith("https://api.telegram.org/bot123456:AA-secret")
    assert answers.sent == [{"chat_id": 7, "text": "_Foo*[x <tag> & `"}]


@pytest.mark.parametrize("api", ["http://127.0.0.1:9", "http://127.0.0.1:9/"])
def test_the_address_comes_from_the_settings(api: str) -> None:
    answers = Answers()
    bot(answers, TELEGRAM_API=api).send_message("@channel", "hi")
    assert str(answers.requests[0].url).startswith("http://127.0.0.1:9/bot123456:")


def test_a_missing_token_is_named() -> None:
    with pytest.raises(ConfigurationError, match="TELEGRAM_BOT_TOKEN"):
        Telegram(Settings({"TELEGRAM_BOT_TOKEN": " "})).send_message(7, "hi")


def test_several_messages_go_out_in_order() -> None:
    answers = Answers()
    bot(answers).send_message(7, "x" * 4096 + "y" * 4096 + "z")
    assert [body["text"][0] for body in answers.sent] == ["x", "y", "z"]


def test_after_a_message_that_failed_no_later_one_is_sent() -> None:
    answers = Answers((200, {"ok": True}), 500)
    with pytest.raises(RequestFailed):
        bot(answers).send_message(7, "x" * 4096 * 3)
    assert len(answers.requests) == 2


@pytest.mark.parametrize("wait", [37, "37", 37.0])
def test_the_pause_is_read_from_the_body(wait: Any) -> None:
    """B89"""
    error = failure(Answers((429, {"ok": False, "description": "Too Many Requests", "parameters": {"retry_after": wait}})))
    assert isinstance(error, RateLimited)
    assert error.retry_after == 37


def test_the_body_goes_before_the_header() -> None:
    """B89"""
    error = failure(Answers((429, {"parameters": {"retry_after": 37}}, {"Retry-After": "3"})))
    assert isinstance(error, RateLimited) and error.retry_after == 37


@pytest.mark.parametrize(
    "body", ["", "<html>", "[]", '{"parameters": 5}', '{"parameters": {"retry_after": null}}', "[" * 300]
)
def test_a_429_with_another_body_takes_the_header(body: str) -> None:
    """B89"""
    error = failure(Answers((429, body, {"Retry-After": "12"})))
    assert isinstance(error, RateLimited) and error.retry_after == 12


def test_a_429_that_names_no_time_is_still_a_pause() -> None:
    """B89"""
    error = failure(Answers((429, "not JSON")))
    assert isinstance(error, RateLimited) and error.retry_after is None


def test_a_group_that_moved_gets_the_text_under_its_new_id(capsys: pytest.CaptureFixture[str]) -> None:
    """B88"""
    answers = Answers(MOVED)
    assert bot(answers).send_message(-5, "x" * 4096 + "y") == -1001
    assert [body["chat_id"] for body in answers.sent] == [-5, -1001, -1001]
    assert [body["text"][0] for body in answers.sent] == ["x", "x", "y"]
    (line,) = capsys.readouterr().out.splitlines()
    warning = json.loads(line)
    assert (warning["level"], warning["old"], warning["new"]) == ("WARNING", -5, -1001)


def test_a_group_that_keeps_moving_is_given_up() -> None:
    """B88"""
    answers = Answers(MOVED, MOVED)
    assert isinstance(failure(answers), PermanentError)
    assert len(answers.requests) == 2


@pytest.mark.parametrize(
    ("status", "description", "advice"),
    [
        (403, "Forbidden: bot was blocked by the user", "the chat 7 has to let the bot in again: start it there, or add it"),
        (403, "Forbidden: the group chat was deleted", "the chat 7 has to let the bot in again: start it there, or add it"),
        (400, "Bad Request: chat not found", "the chat 7"),
        (401, "Unauthorized", "is TELEGRAM_BOT_TOKEN right?"),
        (404, "Not Found", "is TELEGRAM_BOT_TOKEN right?"),
    ],
)
def test_a_refusal_is_permanent_and_says_why_and_what_can_be_done(status: int, description: str, advice: str) -> None:
    """B88"""
    error = failure(Answers((status, {"ok": False, "description": description})))
    assert isinstance(error, PermanentError)
    assert str(error) == f"Telegram sendMessage: status {status}: {description} ({advice})"


def test_a_refusal_that_is_about_no_chat_names_none() -> None:
    with pytest.raises(PermanentError, match=r"^Telegram answerCallbackQuery: status 400: query is too old$"):
        bot(Answers((400, {"ok": False, "description": "query is too old"}))).answer_press("1")


@pytest.mark.parametrize(
    "answer", [(502, "<html>Bad Gateway"), 500, (302, ""), (200, "<html>log in here"), (200, {"ok": False})]
)
def test_what_is_no_answer_of_telegrams_can_be_tried_again(answer: Any) -> None:
    assert type(failure(Answers(answer))) is RequestFailed


def leaky(text: str) -> str:
    return f"{text} /bot{TOKEN}/sendMessage and {quote(TOKEN, safe='')}"


@pytest.mark.parametrize(
    "answer",
    [
        requests.ConnectionError(leaky("refused")),
        requests.ReadTimeout(leaky("timed out")),
        requests.exceptions.InvalidURL(leaky("bad")),
        ValueError(leaky("no requests error at all")),
        (404, {"ok": False, "description": leaky("Not Found")}),
        (403, {"ok": False, "description": leaky("Forbidden")}),
        (302, leaky("Found"), {"Location": leaky("https://elsewhere.test")}),
        (200, leaky("{not JSON")),
        (429, leaky("slow down")),
        (500, leaky("oops")),
    ],
)
def test_no_error_shows_the_token(answer: Any) -> None:
    """B85"""
    shown = everything_about(failure(Answers(answer)))
    assert TOKEN not in shown
    assert quote(TOKEN, safe="") not in shown
    assert "AA-secret" not in shown


def test_a_refused_connection_shows_its_kind_and_not_the_token() -> None:
    """B85"""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    settings = Settings({"TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_API": address})
    with pytest.raises(RequestFailed, match=r"^Telegram sendMessage: ConnectionError$") as raised:
        Telegram(settings).send_message(7, "hi")
    assert "AA-secret" not in everything_about(raised.value)


def test_a_silent_server_is_not_waited_for() -> None:
    """B85"""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        settings = Settings({"TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_API": address})
        with pytest.raises(RequestFailed, match=r"^Telegram sendMessage: ReadTimeout$"):
            Telegram(settings, http.session(timeout=0.05)).send_message(7, "hi")


def test_a_redirect_is_not_followed() -> None:
    """B85"""
    answers = Answers((307, "", {"Location": "https://elsewhere.test/"}))
    assert isinstance(failure(answers), RequestFailed)
    assert len(answers.requests) == 1


def test_the_bot_knows_its_name() -> None:
    answers = Answers((200, {"ok": True, "result": {"id": 1, "username": "OurBot"}}))
    assert bot(answers).bot_name() == "OurBot"
    assert str(answers.requests[0].url).endswith("/getMe")


@pytest.mark.parametrize("result", [{}, {"username": None}, True, None])
def test_a_bot_without_a_name_has_an_empty_one(result: Any) -> None:
    assert bot(Answers((200, {"ok": True, "result": result}))).bot_name() == ""
