"""Alerts that end in a chat of the test's own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tidemill.alerts import Alerts
from tidemill.settings import Settings
from tidemill.telemetry import Log

CONFIGURED = {"TELEGRAM_BOT_TOKEN": "123456:AA-secret", "TELEGRAM_ALERT_CHAT_ID": "-7", "SHOP_API_KEY": "hush-hush-hush"}


class Chat:
    """Stands where Telegram does: takes texts, or raises the next of `faults` instead."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.chats: list[Any] = []
        self.tries = 0
        self.faults: list[BaseException] = []

    def send_message(self, chat_id: Any, text: str) -> Any:
        self.tries += 1
        if self.faults:
            raise self.faults.pop(0)
        self.chats.append(chat_id)
        self.texts.append(text)
        return chat_id


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def made(chat: Chat, clock: Clock, **settings: str) -> Alerts:
    chosen = Settings({**CONFIGURED, **settings})
    return Alerts(chosen, chat, Log(chosen.redact), clock)  # type: ignore[arg-type]


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def fail(alerts: Alerts, job_id: int, kind: str = "order.announce", error: str = "no number") -> None:
    alerts.job_failed(job_id, kind, "PermanentError", error, f"c-{job_id}")
