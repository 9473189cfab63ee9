"""The only place where the parts are put together: one App a container, each part made when it is first used."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from tidemill import address, outbox, registry, settings, source
from tidemill import handlers as kinds
from tidemill.arrival import Arrivals
from tidemill.connector import Connector, connector
from tidemill.db import Database
from tidemill.errors import ConfigurationError
from tidemill.handlers import Handler
from tidemill.intake import Intake
from tidemill.park import Parking
from tidemill.settings import Settings, has_blanks
from tidemill.source import Source
from tidemill.telemetry import Log
from tidemill.wake import Wake

# What the intake has no use for is imported where it is made: a sender waits for its first answer.
if TYPE_CHECKING:
    from tidemill.absorb import AbsorbFunction
    from tidemill.alerts import Alerts
    from tidemill.console import Console
    from tidemill.consume import ConsumeFunction, Sent
    from tidemill.drain import DrainFunction, Teller
    from tidemill.hand import Parts
    from tidemill.operate import Operator
    from tidemill.relay import Relay
    from tidemill.schedule import Declaration, Schedule
    from tidemill.tick import Tick

DEFAULT_LEASE = 60.0
PATIENCE = 2.0  # seconds that a sender waits for the database, where there is a queue to park in


class App:
    """The parts, made of settings and of what automations declare. Raises ConfigurationError that names what is wrong."""

    def __init__(
        self,
        settings: Settings,
        handlers: Iterable[Handler] = (),
        sources: Iterable[Source] = (),
        schedules: Iterable[Declaration] = (),
    ) -> None:
        settings.require("DATABASE_URL")
        address.read(settings["DATABASE_URL"])
        self.settings = settings
        self.log = Log(settings.redact)
        self.handlers: dict[str, Handler] = kinds.by_kind(handlers)
        self.sources: dict[str, Source] = source.by_name(sources)
        settings.hide_settings(name for one in self.sources.values() for name in one.secrets)
        self.schedules = _resolved(schedules, self.handlers)
        self.limits = {one.kind: one.limit_name for one in self.handlers.values() if one.limit_name}
        self.targets = outbox.targets(settings)
        self.lease = settings.number("LEASE_SECONDS", DEFAULT_LEASE)

    @cached_property
    def database(self) -> Database:
        return self._database()

    def _database(self, patience: float | None = None) -> Database:
        return Database(self.settings["DATABASE_URL"], self._connector(patience))

    def _connector(self, patience: float | None = None) -> Connector:
        return connector(self.settings, os.environ, self._database_url_now, patience)

    def _database_url_now(self) -> str:
        url = settings.database_url_now(os.environ)
        self.settings.hide(url)
        return url

    @cached_property
    def alerts(self) -> Alerts:
        from tidemill.alerts import Alerts
        from tidemill.telegram import Telegram

        return Alerts(self.settings, Telegram(self.settings), self.log)

    @cached_property
    def wake(self) -> Wake:
        return Wake(self.settings.get("DRAIN_FUNCTION", ""), os.environ, self.log)

    @cached_property
    def intake(self) -> Intake:
        self._warn_of_blanks()
        return Intake(
            self.database if self.parking is None else self._database(PATIENCE),
            self.sources,
            self.settings,
            self.log,
            self.limits,
            self.wake,
            on_unconfigured=self._tell_of_unconfigured,
            parking=self.parking,
        )

    @cached_property
    def parking(self) -> Parking | None:
        url = self.settings.get("PARKING_QUEUE_URL")
        return Parking(url, os.environ) if url else None

    @cached_property
    def absorb(self) -> AbsorbFunction:
        from tidemill.absorb import AbsorbFunction

        arrivals = Arrivals(self.database, self.sources, self.settings, self.log, self.limits, self.wake)
        return AbsorbFunction(self.database, arrivals, self.parking, self.log, self.alerts)

    def _warn_of_blanks(self) -> None:
        for name in sorted({name for one in self.sources.values() for name in one.secrets}):
            if has_blanks(self.settings.get(name, "")):
                self.log.warning("a secret among several is blank, and is not used", setting=name)

    def _tell_of_unconfigured(self, source: Source) -> None:
        missing = ", ".join(source.missing(self.settings))
        self.alerts.alert(f"the source {source.name} refuses everything: it needs the setting {missing}")

    @cached_property
    def drain(self) -> DrainFunction:
        self._check_numbers(via=None)
        return self._run_by(self._parts(threads=int(self.settings.number("DRAIN_THREADS", 8)) or 1))

    @cached_property
    def consume(self) -> ConsumeFunction:
        from tidemill.consume import BATCH, ConsumeFunction, Sent
        from tidemill.settlement import refused_from_a_queue, settlement_of_sent

        self._check_numbers(via="sqs")
        parts = self._parts(threads=BATCH)
        parts = replace(parts, refuse=refused_from_a_queue, settle=settlement_of_sent)

        def claims(ids: Sequence[int]) -> Sent:
            return Sent(self.database, ids, self.lease, parts.name)

        jobs = self.targets.get(outbox.JOBS)
        return ConsumeFunction(self._run_by(parts, "consume"), claims, self.database, jobs, self.log)

    @cached_property
    def relay(self) -> Relay:
        from tidemill.relay import Relay

        return Relay(self.database, self.targets, self.log, self.alerts)

    def _check_numbers(self, via: str | None) -> None:
        from tidemill.drain import check_numbers

        run_here = {kind: one for kind, one in self.handlers.items() if one.via == via}
        check_numbers(run_here, self.lease, self.settings.number("FUNCTION_TIMEOUT", 0) or None)

    def _parts(self, threads: int) -> Parts:
        from tidemill.context import Connections, Tools
        from tidemill.hand import Parts

        return Parts(
            database=self.database,
            handlers=self.handlers,
            tools=Tools(self.settings, self.log, self.limits, Connections(self.settings["DATABASE_URL"], self._connector())),
            name=f"{os.environ.get('AWS_LAMBDA_LOG_STREAM_NAME') or socket.gethostname()}:{os.getpid()}",
            threads=threads,
            lease=self.lease,
            linger=self.settings.number("DRAIN_LINGER", 1),
            tell=self.teller.tell,
        )

    def _run_by(self, parts: Parts, name: str = "drain") -> DrainFunction:
        from tidemill.drain import DrainFunction
        from tidemill.worker import Worker

        wake_relay = Wake(self.settings.get("RELAY_FUNCTION", ""), os.environ, self.log)
        return DrainFunction(Worker(parts), self.teller, self.database, self.log, wake_relay, name)

    @cached_property
    def teller(self) -> Teller:
        from tidemill.drain import Teller

        return Teller(self.alerts)

    @cached_property
    def tick(self) -> Tick:
        from tidemill.tick import Tick

        return Tick(self.database, self.schedules, self.handlers, self.settings, self.log, self.alerts, self.wake)

    @cached_property
    def operator(self) -> Operator:
        from tidemill.operate import Operator

        return Operator(
            self.database,
            self.handlers,
            self.sources,
            self.limits,
            self.settings,
            self.log,
            wake=self.wake,
            schedules=self.schedules,
        )

    @cached_property
    def console(self) -> Console:
        from tidemill.console import Console

        return Console(self.operator.run, self.log)


_TRACE = b"_X_AMZN_TRACE_ID"  # which the Lambda runtime client sets anew for each invocation

_current: tuple[dict[bytes, bytes], App] | None = None


def current() -> App:
    """The App of this container, made from the environment; made anew where the environment has changed since."""
    global _current
    # The dict behind os.environ, which would decode each name and value anew, in each invocation.
    environ: dict[bytes, bytes] = {**os.environ._data}  # type: ignore[attr-defined]
    environ.pop(_TRACE, None)
    if _current is None or _current[0] != environ:
        _current = (environ, load(os.environ))
    return _current[1]


def load(environ: Mapping[str, str]) -> App:
    """An App from an environment, with the automations that AUTOMATIONS lists (default: automations)."""
    loaded = settings.load(environ)
    try:
        names = load_automations(loaded)
        return App(loaded, kinds.declared.of(names), source.declared.of(names), _declared_schedules(names))
    except ConfigurationError as error:
        Log(loaded.redact).error("cannot start", reason=str(error))
        raise


def _declared_schedules(names: list[str]) -> list[Declaration]:
    module = sys.modules.get("tidemill.schedule")  # which is there if an automation has declared one
    return module.declared.of(names) if module else []


def _resolved(declarations: Iterable[Declaration], handlers: Mapping[str, Handler]) -> list[Schedule]:
    if not (given := list(declarations)):
        return []
    from tidemill.schedule import resolve

    return resolve(given, handlers)


def load_automations(settings: Mapping[str, str]) -> list[str]:
    """Load the modules and packages that AUTOMATIONS lists; returns their names. Raises ConfigurationError."""
    names = [name.strip() for name in settings.get("AUTOMATIONS", "automations").split(",") if name.strip()]
    registry.load_modules(names)
    return names
