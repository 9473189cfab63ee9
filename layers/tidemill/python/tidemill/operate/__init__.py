"""The operator's commands: one implementation for the replay function, the CLI and whatever else takes a command.

A command is {"command": name, fields...} and its answer {"ok": true, ...} or {"ok": false, "error": {"code", "field",
"message"}} with one of the codes invalid, not_found, conflict. Each command is one function of this package, which says
what it answers; its fields are named below, each with the function that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from tidemill.db import Database
from tidemill.errors import CommandError
from tidemill.handlers import Handler
from tidemill.operate import (
    find,
    limits,
    operations,
    redrive,
    rejected,
    replay,
    restart,
    schedules,
    search,
    show,
    sources,
    stats,
    tail,
)
from tidemill.operate.arguments import Reader, cursor, flag, identity, instant, page, read, seconds, shown, text
from tidemill.operate.operation import Operation, Parts
from tidemill.schedule import Schedule
from tidemill.settings import Settings
from tidemill.source import Source
from tidemill.telemetry import Log


class Command(NamedTuple):
    """A command: what carries it out, its fields, and whether jobs may be waiting for a drain after it."""

    run: Callable[[Parts, Operation], dict[str, Any]]
    fields: Mapping[str, Reader]
    wakes: bool = False


_failures: dict[str, Reader] = {"kind": text, "error_class": text, "since": instant, "until": instant}
_events: dict[str, Reader] = {"source": text, "since": instant, "until": instant, "unrouted": flag}
_again: dict[str, Reader] = {"force": flag, "dry_run": flag, "limit": page}

COMMANDS = {
    "failed": Command(find.failed, {**_failures, "limit": page, "after": cursor}),
    "rejected": Command(rejected.rejected, {"source": text, "since": instant, "limit": page, "after": cursor}),
    "show": Command(show.show, {"job": identity, "event": identity}),
    "stats": Command(stats.stats, {}),
    "schedules": Command(schedules.schedules, {}),
    "sources": Command(sources.sources, {}),
    "tail": Command(tail.tail, {"after": tail.after, "limit": page}),
    "search": Command(search.search, {"text": text}),
    "operations": Command(operations.operations, {"limit": page, "after": cursor}),
    "retry": Command(redrive.retry, {"job": identity, **_failures, **_again, "after": redrive.after}, wakes=True),
    "replay": Command(replay.replay, {"event": identity, **_events, **_again, "after": replay.after}, wakes=True),
    "cancel": Command(redrive.cancel, {"job": identity}),
    "restart": Command(restart.restart, {"job": identity, "step": text}, wakes=True),
    "pause": Command(limits.pause, {"limit": text, "for": seconds}),
    "resume": Command(limits.resume, {"limit": text}, wakes=True),
}
NOBODY = "unknown"  # stands in `operations` where a command does not say who gave it


class Operator:
    """Carries commands out. `limits` maps a kind to the name of its limit; `wake` asks for a drain and never raises."""

    def __init__(
        self,
        database: Database,
        handlers: Mapping[str, Handler],
        sources: Mapping[str, Source],
        limits: Mapping[str, str],
        settings: Settings,
        log: Log,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        wake: Callable[[], None] = lambda: None,
        schedules: Iterable[Schedule] = (),
    ) -> None:
        by_name = {one.name: one for one in schedules}
        self._parts = Parts(database, handlers, sources, limits, settings.redact, by_name, settings)
        self._log = log
        self._now = now
        self._wake = wake

    def run(self, command: object) -> dict[str, Any]:
        """Carry a command out and answer. Never raises for a bad command; a database that is away raises."""
        try:
            name, one, operation = self._read(command)
            answer = one.run(self._parts, operation)
        except CommandError as error:
            message = self._parts.redact(str(error))
            self._log.info("command refused", code=error.code, field=error.field, reason=message)
            return {"ok": False, "error": {"code": error.code, "field": error.field, "message": message}}
        self._log.info("command", command=name, by=operation.by)
        if one.wakes and not operation.get("dry_run"):
            self._wake()
        return {"ok": True, **answer}

    def _read(self, given: object) -> tuple[str, Command, Operation]:
        if not isinstance(given, dict):
            raise CommandError("invalid", f"a command is a JSON object, not {type(given).__name__}", "command")
        name = given.get("command")
        if not isinstance(name, str) or (one := COMMANDS.get(name)) is None:
            raise CommandError("invalid", f"command must be one of {', '.join(COMMANDS)}, not {shown(name)}", "command")
        fields = {field: value for field, value in given.items() if field != "command"}
        by = str(read({"by": fields.pop("by", None)}, {"by": text}, self._now).get("by", NOBODY))
        values = read(fields, one.fields, self._now)
        # What goes on record is cleaned of secrets, which people paste into the oddest places.
        redact = self._parts.redact
        arguments = {field: redact(value) if isinstance(value, str) else value for field, value in fields.items()}
        return name, one, Operation(name, redact(by), values, arguments)
