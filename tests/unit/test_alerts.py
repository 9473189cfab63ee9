from __future__ import annotations

from typing import Any

import pytest
from tidemill.alerts import Alerts
from tidemill.errors import PermanentError, RateLimited, RequestFailed

from tests.unit.chat import Chat, Clock, fail, lines, made


def test_an_alert_goes_to_the_chat_of_the_settings(alerts: Alerts, chat: Chat) -> None:
    alerts.alert("the line is old")
    assert (chat.chats, chat.texts) == (["-7"], ["the line is old"])


def test_a_failed_job_is_told_with_id_kind_error_and_correlation_id(alerts: Alerts, chat: Chat) -> None:
    alerts.job_failed(42, "order.announce", "PermanentError", "an order without a number", "abc-1")
    assert chat.texts == [
        "Job 42 (order.announce) failed for good, correlation id abc-1\nPermanentError: an order without a number"
    ]


def test_a_job_without_a_correlation_id_is_told_too(alerts: Alerts, chat: Chat) -> None:
    alerts.job_failed(42, "order.announce", "E", "e", None)
    assert chat.texts == ["Job 42 (order.announce) failed for good, correlation id none\nE: e"]


def test_a_long_error_hides_neither_the_job_nor_its_correlation_id(alerts: Alerts, chat: Chat) -> None:
    """B55"""
    fail(alerts, 42, error="x" * 20_000_000)
    assert chat.texts[0].startswith("Job 42 (order.announce) failed for good, correlation id c-42\nPermanentError: xxx")
    assert len(chat.texts[0]) <= 3000


def test_each_failed_job_is_told_and_so_is_one_that_fails_again(alerts: Alerts, chat: Chat) -> None:
    for job_id in (1, 2, 1):
        fail(alerts, job_id)
    assert [text[:6] for text in chat.texts] == ["Job 1 ", "Job 2 ", "Job 1 "]


def test_an_alert_is_in_the_log_too(alerts: Alerts, capsys: pytest.CaptureFixture[str]) -> None:
    alerts.alert("the line is old")
    assert [(line["level"], line["message"], line["alert"]) for line in lines(capsys)] == [
        ("ERROR", "alert", "the line is old")
    ]


@pytest.mark.parametrize("missing", ["TELEGRAM_BOT_TOKEN", "TELEGRAM_ALERT_CHAT_ID"])
def test_without_settings_the_log_says_that_nobody_was_told(
    chat: Chat, clock: Clock, missing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made(chat, clock, **{missing: ""}).alert("the line is old")
    alert, untold = lines(capsys)
    assert (alert["alert"], untold["level"], untold["message"]) == ("the line is old", "ERROR", "nobody was told")
    assert missing in untold["reason"]
    assert chat.tries == 0


@pytest.mark.parametrize(
    "fault",
    [RequestFailed("away"), PermanentError("no"), RateLimited(5), RuntimeError(), SystemExit(1), KeyboardInterrupt()],
)
def test_an_alert_never_raises(alerts: Alerts, chat: Chat, fault: BaseException, capsys: pytest.CaptureFixture[str]) -> None:
    chat.faults = [fault, fault]
    alerts.alert("the line is old")
    assert chat.texts == []
    alert, untold = lines(capsys)
    assert (alert["alert"], untold["message"]) == ("the line is old", "nobody was told")
    assert untold["reason"].startswith(type(fault).__name__)


class Unprintable:
    def __str__(self) -> str:
        raise MemoryError


def test_a_text_that_cannot_be_read_does_not_raise_either(alerts: Alerts, capsys: pytest.CaptureFixture[str]) -> None:
    alerts.alert(Unprintable())  # type: ignore[arg-type]
    fail(alerts, 1, error=Unprintable())  # type: ignore[arg-type]
    assert {line["message"] for line in lines(capsys)} == {"nobody was told"}


def test_an_alert_after_one_that_could_not_be_read_is_told(alerts: Alerts, chat: Chat) -> None:
    alerts.alert(Unprintable())  # type: ignore[arg-type]
    alerts.alert("the line is old")
    assert chat.texts == ["the line is old"]


def test_a_second_try_reaches_what_the_first_one_missed(alerts: Alerts, chat: Chat) -> None:
    chat.faults = [RequestFailed("the connection had died")]
    alerts.alert("the line is old")
    assert chat.texts == ["the line is old"]


def test_no_secret_is_told(alerts: Alerts, chat: Chat, capsys: pytest.CaptureFixture[str]) -> None:
    """B85"""
    alerts.alert("refused: key=hush-hush-hush at /bot123456:AA-secret/ or bot123456%3AAA-secret")
    fail(alerts, 1, error="x" * 2990 + "hush-hush-hush")
    said = str(chat.texts) + capsys.readouterr().out
    assert "hush" not in said and "AA-secret" not in said


def test_a_secret_in_the_reason_of_a_failure_is_not_logged(
    alerts: Alerts, chat: Chat, capsys: pytest.CaptureFixture[str]
) -> None:
    """B85"""
    chat.faults = [PermanentError("hush-hush-hush")]
    alerts.alert("the line is old")
    assert "hush" not in capsys.readouterr().out


def test_a_long_alert_fits_into_one_message(alerts: Alerts, chat: Chat) -> None:
    alerts.alert("\u00e9" * 100_000)
    assert len(chat.texts[0].encode()) <= 3000


class MovedChat(Chat):
    """A group that has become a supergroup: what is sent to the old id arrives under the new one."""

    def send_message(self, chat_id: Any, text: str) -> Any:
        super().send_message(chat_id, text)
        return -1001


def test_a_chat_that_has_another_id_gets_its_alerts_and_is_told_so_once(clock: Clock) -> None:
    """B88"""
    chat = MovedChat()
    alerts = made(chat, clock)
    for text in ("the line is old", "the drain is silent"):
        alerts.alert(text)
        clock.now += 1000
    told = "the chat -7 has become a supergroup: put its new id -1001 into TELEGRAM_ALERT_CHAT_ID"
    assert chat.texts == ["the line is old", told, "the drain is silent"]
    assert chat.chats == ["-7", "-1001", "-1001"]


def test_an_error_text_that_looks_like_markup_is_told_as_it_is(alerts: Alerts, chat: Chat) -> None:
    """B87"""
    fail(alerts, 42, error="_Foo*[x](y) `<tag> &amp; </b> \\")
    assert chat.texts[0].endswith("\nPermanentError: _Foo*[x](y) `<tag> &amp; </b> \\")
