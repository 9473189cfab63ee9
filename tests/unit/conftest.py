from __future__ import annotations

import pytest
from tidemill.alerts import Alerts

from tests.unit.chat import Chat, Clock, made


@pytest.fixture
def chat() -> Chat:
    return Chat()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def alerts(chat: Chat, clock: Clock) -> Alerts:
    return made(chat, clock)
