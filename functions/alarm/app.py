"""CloudWatch alarms, by SNS: each one, and its end, to Telegram. It works without the database."""

from __future__ import annotations

import os

from tidemill import alarm, settings
from tidemill.telegram import Telegram
from tidemill.telemetry import Log


def handler(event: object, context: object) -> None:
    loaded = settings.load(os.environ)
    alarm.tell(event, loaded, Telegram(loaded), Log(loaded.redact))
