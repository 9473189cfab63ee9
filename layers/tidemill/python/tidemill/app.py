"""The only place where the parts are put together: one App a container, each part made when it is first used."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from tidemill import handlers as kinds
from tidemill import outbox, registry, schedule, settings, source
from tidemill.alerts import Alerts
from tidemill.consume import BATCH, ConsumeFunction, Sent
from tidemill.context import Connections, Tools
from tidemill.db import Database, connect
from tidemill.drain import DrainFunction, Teller, check_numbers
from tidemill.errors import ConfigurationError
from tidemill.hand import Parts
from tidemill.handlers import Handler
from tidemill.intake import Intake
from tidemill.operate import Operator
from tidemill.relay import Relay
from tidemill.schedule import Schedule
from tidemill.settings import Settings
from tidemill.settlement import refused_from_a_queue, settlement_of_sent
from tidemill.source import Source
from tidemill.telegram import Telegram
from tidemill.telemetry import Log
from tidemill.tick import Tick
from tidemill.wake import Wake
from tidemill.worker import Worker

DEFAULT_LEASE = 60.0


class App:
    """The parts, made of settings and of what automations declare. Raises ConfigurationError that names what is wrong."""

    def __init__(
        self,
        settings: Settings,
        handlers: Iterable[Handler] = (),
        sources: Iterable[Source] = (),
        schedules: Iterable[schedule.Declaration] = (),
    ) -> None:
        settings.require("DATABASE_URL")
        self.settings = settings
        self.log = Log(settings.redact)
        self.handlers: dict[str, Handler] = kinds.by_kind(handlers)
        self.sources: dict[str, Source] = source.by_name(sources)
        self.schedules: list[Schedule] = schedule.resolve(schedules, self.handlers)
        self.limits = {one.kind: one.limit_name for one in self.handlers.values() if one.limit_name}
        self.targets = outbox.targets(settings)
        self.lease = settings.number("LEASE_SECONDS", DEFAULT_LEASE)

    @cached_property
    def database(self) -> Database:
        return Database(self.settings["DATABASE_URL"])

    @cached_property
    def alerts(self) -> Alerts:
        return Alerts(self.settings, Telegram(self.settings), self.log)

    @cached_property
    def wake(self) -> Wake:
        return Wake(self.settings.get("DRAIN_FUNCTION", ""), os.environ, self.log)

    @cached_property
    def intake(self) -> Intake:
        return Intake(
            self.database,
            self.sources,
            self.settings,
            self.log,
            self.limits,
            self.wake,
            on_unconfigured=self._tell_of_unconfigured,
        )

    def _tell_of_unconfigured(self, source: Source) -> None:
        missing = ", ".join(source.missing(self.settings))
        self.alerts.alert(f"the source {source.name} refuses everything: it needs the setting {missing}")

    @cached_property
    def drain(self) -> DrainFunction:
        self._check_numbers(via=None)
        return self._run_by(self._parts(threads=int(self.settings.number("DRAIN_THREADS", 8)) or 1))

    @cached_property
    def consume(self) -> ConsumeFunction:
        self._check_numbers(via="sqs")
        parts = self._parts(threads=BATCH)
        parts = replace(parts, refuse=refused_from_a_queue, settle=settlement_of_sent)

        def claims(ids: Sequence[int]) -> Sent:
            return Sent(self.database, ids, self.lease, parts.name)

        jobs = self.targets.get(outbox.JOBS)
        return ConsumeFunction(self._run_by(parts, "consume"), claims, self.database, jobs, self.log)

    @cached_property
    def relay(self) -> Relay:
        return Relay(self.database, self.targets, self.log, self.alerts)

    def _check_numbers(self, via: str | None) -> None:
        run_here = {kind: one for kind, one in self.handlers.items() if one.via == via}
        check_numbers(run_here, self.lease, self.settings.number("FUNCTION_TIMEOUT", 0) or None)

    def _parts(self, threads: int) -> Parts:
        return Parts(
            database=self.database,
            handlers=self.handlers,
            tools=Tools(self.settings, self.log, self.limits, Connections(self.settings["DATABASE_URL"], connect)),
            name=f"{os.environ.get('AWS_LAMBDA_LOG_STREAM_NAME') or socket.gethostname()}:{os.getpid()}",
            threads=threads,
            lease=self.lease,
            linger=self.settings.number("DRAIN_LINGER", 1),
            tell=self.teller.tell,
        )

    def _run_by(self, parts: Parts, name: str = "drain") -> DrainFunction:
        wake_relay = Wake(self.settings.get("RELAY_FUNCTION", ""), os.environ, self.log)
        return DrainFunction(Worker(parts), self.teller, self.database, self.log, wake_relay, name)

    @cached_property
    def teller(self) -> Teller:
        return Teller(self.alerts)

    @cached_property
    def tick(self) -> Tick:
        return Tick(self.database, self.schedules, self.handlers, self.settings, self.log, self.alerts, self.wake)

    @cached_property
    def operator(self) -> Operator:
        return Operator(self.database, self.handlers, self.sources, self.limits, self.settings, self.log, wake=self.wake)


_TRACE = "_X_AMZN_TRACE_ID"  # which the Lambda runtime client sets anew for each invocation

_current: tuple[dict[str, str], App] | None = None


def current() -> App:
    """The App of this container, made from the environment; made anew where the environment has changed since."""
    global _current
    environ = {name: value for name, value in os.environ.items() if name != _TRACE}
    if _current is None or _current[0] != environ:
        _current = (environ, load(environ))
    return _current[1]


def load(environ: Mapping[str, str]) -> App:
    """An App from an environment, with the automations that AUTOMATIONS lists (default: automations)."""
    loaded = settings.load(environ)
    names = [name.strip() for name in loaded.get("AUTOMATIONS", "automations").split(",") if name.strip()]
    try:
        registry.load_modules(names)
        return App(loaded, kinds.declared.of(names), source.declared.of(names), schedule.declared.of(names))
    except ConfigurationError as error:
        Log(loaded.redact).error("cannot start", reason=str(error))
        raise
