"""Asking Telegram for updates, on a real port."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tidemill.errors import ConfigurationError, PermanentError, RequestFailed
from tidemill.settings import Settings
from tidemill.telegram import register

from local.telegram import Telegram

TOKEN = "123456:AA-secret"
URL = "https://mill.test/hooks/telegram"


@pytest.fixture
def telegram() -> Iterator[Telegram]:
    stand_in = Telegram()
    yield stand_in
    stand_in.close()


def settings(telegram: Telegram, **more: str) -> Settings:
    given = {"TELEGRAM_API": telegram.url, "TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_WEBHOOK_SECRET": "hush_hush-1"}
    return Settings({**given, **more})


def test_updates_of_all_kinds_come_to_the_address_with_the_secret(telegram: Telegram) -> None:
    said = register(settings(telegram), None, URL)
    assert telegram.webhook == {"url": URL, "secret_token": "hush_hush-1", "allowed_updates": []}
    assert said == f"Telegram delivers the bot's updates to {URL} from now on, with the secret of TELEGRAM_WEBHOOK_SECRET."


def test_of_several_secrets_the_first_is_given(telegram: Telegram) -> None:
    register(settings(telegram, TELEGRAM_WEBHOOK_SECRET=" , new ,old"), None, URL)
    assert telegram.webhook["secret_token"] == "new"


def test_another_source_has_a_setting_of_its_own(telegram: Telegram) -> None:
    assert "SUPPORT_WEBHOOK_SECRET" in register(
        settings(telegram, SUPPORT_WEBHOOK_SECRET="s"), None, URL, "SUPPORT_WEBHOOK_SECRET"
    )
    assert telegram.webhook["secret_token"] == "s"


@pytest.mark.parametrize("secret", ["a b", "é", "a+b/c=", "x" * 257])
def test_a_secret_that_telegram_does_not_take_is_refused_without_showing_it(telegram: Telegram, secret: str) -> None:
    with pytest.raises(PermanentError) as raised:
        register(settings(telegram, TELEGRAM_WEBHOOK_SECRET=secret), None, URL)
    assert str(raised.value) == "TELEGRAM_WEBHOOK_SECRET: Telegram takes 1 to 256 of A-Z, a-z, 0-9, _ and -"
    assert telegram.webhook == {}


@pytest.mark.parametrize("secret", ["", " , "])
def test_without_a_secret_the_setting_is_named(telegram: Telegram, secret: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^missing settings: TELEGRAM_WEBHOOK_SECRET$"):
        register(settings(telegram, TELEGRAM_WEBHOOK_SECRET=secret), None, URL)


def test_a_refusal_is_permanent_with_what_telegram_says(telegram: Telegram) -> None:
    text = "Telegram setWebhook: status 400: Bad Request: bad webhook: An HTTPS URL must be provided for webhook"
    with pytest.raises(PermanentError) as raised:
        register(settings(telegram), None, "http://mill.test/hooks/telegram")
    assert str(raised.value) == text


@pytest.mark.parametrize(("status", "error"), [(401, PermanentError), (502, RequestFailed)])
def test_no_error_shows_token_or_secret(telegram: Telegram, status: int, error: type[Exception]) -> None:
    """B85"""
    telegram.fail(1, status)
    with pytest.raises(error) as raised:
        register(settings(telegram), None, URL)
    assert "AA-secret" not in repr(raised.value) and "hush" not in repr(raised.value)
