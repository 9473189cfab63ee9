"""One command on its way: who gave it, what it works with, and its record in `operations`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from psycopg.errors import DeadlockDetected, SerializationFailure

from tidemill import jsontext
from tidemill.db import Database
from tidemill.errors import CommandError
from tidemill.handlers import Handler
from tidemill.operate.cursors import cursor_of
from tidemill.schedule import Schedule
from tidemill.source import Source
from tidemill.wire import Connection, run, statement

T = TypeVar("T")

MOST_REFUSED = 1000  # that a bulk command names; the rest is counted


@dataclass(frozen=True)
class Parts:
    """What commands work with. `limits` maps a kind to the name of its limit; `redact` takes secrets out of a text; of
    `settings` an answer says at most whether one is set."""

    database: Database
    handlers: Mapping[str, Handler]
    sources: Mapping[str, Source]
    limits: Mapping[str, str]
    redact: Callable[[str], str]
    schedules: Mapping[str, Schedule]
    settings: Mapping[str, str]

    def change(self, work: Callable[[Connection], T]) -> T:
        """Run work in a transaction of its own, again after a deadlock with workers, which settle in their own order."""
        for _ in range(4):
            try:
                with self.database.transaction() as connection:
                    return work(connection)
            except (DeadlockDetected, SerializationFailure) as error:
                collision = error
        raise collision


class Operation:
    """A command with its fields: `values` as they were read, by name; `arguments` as they were given, which go on record."""

    def __init__(self, command: str, by: str, values: Mapping[str, Any], arguments: Mapping[str, object]) -> None:
        self.command = command
        self.by = by
        self._values = values
        self._arguments = arguments
        self._id: int | None = None

    def get(self, field: str) -> Any:
        """The value of a field, None where it was not given."""
        return self._values.get(field)

    def going_on(self, place: Mapping[str, Any] | None) -> dict[str, Any]:
        """{"after": cursor of the place, or null} as part of the answer to a command with a limit."""
        return {"after": place and cursor_of(place)} if self.get("limit") else {}

    def record(self, connection: Connection, outcome: Mapping[str, Any]) -> None:
        """Write what came of the command, in the transaction of the change; called again it replaces the outcome."""
        parameters = {
            "id": self._id,
            "by": self.by,
            "command": self.command,
            "arguments": jsontext.dumps(self._arguments),
            "outcome": jsontext.dumps(outcome),
        }
        self._id = run(connection, statement("operate_record"), parameters)[0][0]


class Bulk:
    """What a bulk command has come to so far."""

    def __init__(self) -> None:
        self.matched = 0
        self.changed = 0
        self._refused: list[dict[str, Any]] = []
        self._unnamed = 0

    def refuse(self, number: int, error: CommandError) -> None:
        if len(self._refused) < MOST_REFUSED:
            self._refused.append({"id": number, "code": error.code, "message": str(error)})
        else:
            self._unnamed += 1

    def so_far(self, changed: int) -> dict[str, Any]:
        """The outcome on record until the command has ended, with `changed` more; a command that is killed leaves it."""
        return {"matched": self.matched, "changed": self.changed + changed, "unfinished": True}

    def outcome(self) -> dict[str, Any]:
        """The answer; `refused_more` counts what was refused beyond those that are named."""
        answer = {"matched": self.matched, "changed": self.changed, "refused": self._refused}
        return {**answer, "refused_more": self._unnamed} if self._unnamed else answer
