"""Silence is heard: a line that is too old, a drain that does not drain, a source that refuses everything, a topic of the
outbox without a target, a job that died without anybody being told. Each is told once, and when it is over."""

from __future__ import annotations

from typing import Protocol

from tidemill import outbox, telemetry
from tidemill.alerts import Alerts
from tidemill.db import Database
from tidemill.settings import Settings

OLDEST_READY = 300.0  # seconds that a job that could be claimed may wait; the setting ALERT_READY_AGE
DRAIN_SILENCE = 300.0  # seconds without an end of a drain while jobs wait; the setting ALERT_DRAIN_SILENCE
REJECTIONS = 5.0  # refusals in two hours, none taken; the setting ALERT_REJECTIONS


class Waiting(Protocol):
    """What is known of the backlog: seconds that the oldest job waits, and how many are ready."""

    @property
    def oldest(self) -> float: ...
    @property
    def ready(self) -> int: ...


class Watch:
    """Raises ConfigurationError where one of the settings is no number."""

    def __init__(self, database: Database, settings: Settings, alerts: Alerts) -> None:
        self._database = database
        self._alerts = alerts
        self._oldest_ready = settings.number("ALERT_READY_AGE", OLDEST_READY)
        self._drain_silence = settings.number("ALERT_DRAIN_SILENCE", DRAIN_SILENCE)
        self._rejections = settings.number("ALERT_REJECTIONS", REJECTIONS)

    def run(self, backlog: Waiting) -> list[str]:
        """Look, and tell what is new or over; answers the names of what is wrong now."""
        self._tell_of_the_dead()
        wrong = self._wrong(backlog)
        changes = self._database.execute("troubles", {"names": list(wrong), "details": list(wrong.values())})
        for name, lasted in changes:
            if lasted is None:
                self._alerts.alert(wrong[name], key=f"{name} begins")
            else:
                self._alerts.alert(f"{name}: over, after {_words(lasted)}", key=f"{name} is over")
        return sorted(wrong)

    def _wrong(self, backlog: Waiting) -> dict[str, str]:
        [(drained, refusing)] = self._database.execute("watch", {"rejections": self._rejections})
        wrong: dict[str, str] = {}
        if backlog.oldest > self._oldest_ready:
            waited = _words(backlog.oldest)
            wrong["old line"] = (
                f"old line: the oldest job that could be claimed waits for {waited}; {backlog.ready} are ready"
            )
        silent = backlog.oldest if drained is None else min(drained, backlog.oldest)
        telemetry.write_lines([telemetry.metrics({"DrainSilence": (silent, "Seconds")})])
        if silent > self._drain_silence:
            last = "no drain has ever ended" if drained is None else f"the last drain ended {_words(drained)} ago"
            wrong["silent drain"] = f"silent drain: {last}, and {backlog.ready} jobs are ready"
        for source, count in sorted(refusing.items()):
            name = f"refusing source {source}"
            wrong[name] = f"{name}: {count} deliveries refused in the last hours and none taken; is its secret right?"
        set_aside = self._database.execute("without_target")
        return wrong | outbox.without_target(topic for (topic,) in set_aside)

    def _tell_of_the_dead(self) -> None:
        for job_id, kind, error_class, error, correlation_id in self._database.execute("untold"):
            self._alerts.job_failed(job_id, kind, error_class, error, correlation_id)


def _words(seconds: float) -> str:
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {word}{'s' if number > 1 else ''}"
    return f"{seconds:.0f} seconds"
