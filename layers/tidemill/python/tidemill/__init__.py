"""Tidemill: webhooks in, durable work out, on nothing but AWS Lambda and Postgres.

The names here are what automations are written with. Each is imported when it is first used, so that a function loads no
more than it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidemill import lazy

if TYPE_CHECKING:
    from tidemill.bot import Bot
    from tidemill.errors import ConfigurationError, PermanentError, RateLimited
    from tidemill.handlers import handler
    from tidemill.http import check
    from tidemill.model import Accepted, Event, Job, NewJob, Refused, Reply, Request, Signal
    from tidemill.outcome import Discard, Snooze
    from tidemill.schedule import cron, daily, every
    from tidemill.source import Source

_HOMES = {
    "bot": ("Bot",),
    "errors": ("ConfigurationError", "PermanentError", "RateLimited"),
    "handlers": ("handler",),
    "http": ("check",),
    "model": ("Accepted", "Event", "Job", "NewJob", "Refused", "Reply", "Request", "Signal"),
    "outcome": ("Discard", "Snooze"),
    "schedule": ("cron", "daily", "every"),
    "source": ("Source",),
}

__all__ = [
    "Accepted",
    "Bot",
    "ConfigurationError",
    "Discard",
    "Event",
    "Job",
    "NewJob",
    "PermanentError",
    "RateLimited",
    "Refused",
    "Reply",
    "Request",
    "Signal",
    "Snooze",
    "Source",
    "check",
    "cron",
    "daily",
    "every",
    "handler",
]

__getattr__ = lazy.names(globals(), _HOMES)
