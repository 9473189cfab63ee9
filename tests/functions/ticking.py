"""What tests of the schedule function are written with: a tick, and stand-ins for Telegram and for waking drains."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from tidemill import rules
from tidemill.alerts import Alerts
from tidemill.db import Database
from tidemill.handlers import Handler
from tidemill.schedule import Schedule
from tidemill.settings import Settings
from tidemill.telemetry import Log
from tidemill.tick import Tick

BEAT = Schedule("beat", "beat", "every(minutes=1)", rules.Every(1))


class Bot:
    """Stands in for Telegram."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.failures = 0  # how often it is still going to fail

    def send_message(self, chat_id: object, text: str) -> object:
        if self.failures:
            self.failures -= 1
            raise ConnectionError
        self.sent.append(text)
        return chat_id


@pytest.fixture
def bot() -> Bot:
    return Bot()


@pytest.fixture
def woken() -> list[int]:
    return []


@pytest.fixture
def make_tick(database_url: str, bot: Bot, woken: list[int]) -> Iterator[Callable[..., Tick]]:
    """`make_tick(*schedules, wake=, **settings)`"""
    databases: list[Database] = []

    def make(*schedules: Schedule, wake: Callable[[int], None] = woken.append, url: str = database_url, **more: str) -> Tick:
        values = {"TELEGRAM_BOT_TOKEN": "1:token", "TELEGRAM_ALERT_CHAT_ID": "7", **more}
        settings = Settings(values)
        log = Log(settings.redact)
        databases.append(Database(url))
        handlers = {"beat": Handler("beat", print), "work": Handler("work", print, max_attempts=2)}
        # Its clock goes an hour on whenever it is asked, so that no alert is held back for having been told just now.
        alerts = Alerts(settings, bot, log, clock=itertools.count(step=3600).__next__)  # type: ignore[arg-type]
        return Tick(databases[-1], schedules, handlers, settings, log, alerts, wake)

    yield make
    for database in databases:
        database.close()


MakeTick = Callable[..., Tick]
