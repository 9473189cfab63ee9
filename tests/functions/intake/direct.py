"""An Intake built by hand, on a database that can be made to fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import psycopg
from tidemill.db import Database
from tidemill.intake import Intake
from tidemill.settings import Settings
from tidemill.telemetry import Log
from tidemill.wire import Row

from tests.functions.intake import sources
from tests.functions.intake.sources import SECRETS


def intake(database: Database, wake: Callable[[], None] = lambda: None, **options: Any) -> Intake:
    settings = Settings(options.pop("settings", SECRETS))
    by_name = {one.name: one for one in (sources.shop, sources.other, sources.bot, sources.plain)}
    return Intake(database, by_name, settings, Log(settings.redact), {}, wake, **options)


class FaultyDatabase(Database):
    """Loses the connection before or after the statement `at`, the first `times` times."""

    def __init__(self, url: str, at: str, times: int = 1, *, after: bool = False) -> None:
        super().__init__(url)
        self._at = at
        self._times = times
        self._after = after

    def execute(self, name: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        fault = name == self._at and self._times > 0
        self._times -= fault
        rows = [] if fault and not self._after else super().execute(name, parameters)
        if fault:
            self.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return rows
