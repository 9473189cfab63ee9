"""A database whose statements a test steps between: whatever way a statement is run, it begins and has ended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from tidemill.db import Database
from tidemill.wire import InFlight, Row


class Hooked(Database, ABC):
    @abstractmethod
    def around(self, name: str) -> AbstractContextManager[None]:
        """Surrounds each statement, until the server has committed it."""

    def execute(self, name: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        with self.around(name):
            return super().execute(name, parameters)

    def send(self, name: str, parameters: Mapping[str, Any]) -> InFlight:
        with self.around(name):
            sent = super().send(name, parameters)
            sent.arrive()
            return sent
