"""Tidemill: webhooks in, durable work out, on nothing but AWS Lambda and Postgres.

The names here are what automations are written with. Each is imported when it is first used, so that a function loads no
more than it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}

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


def __getattr__(name: str) -> Any:
    if (module := _MODULE_OF.get(name)) is None:
        raise AttributeError(f"module 'tidemill' has no attribute {name!r}")
    value = getattr(import_module(f"tidemill.{module}"), name)
    globals()[name] = value
    return value
