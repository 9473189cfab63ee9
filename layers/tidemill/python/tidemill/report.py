"""What a drain says: one line for each attempt, written a batch at a time, and its counts and durations as metrics.

The line is put together by hand: a general logger would cost more than the claim, the run and the settling of a small job.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring_ascii as quoted

from tidemill import telemetry
from tidemill.model import Job
from tidemill.runners import Ended

DURATIONS = 100  # values that one embedded metric may hold

_METRICS = {"done": "JobsDone", "retried": "JobsRetried", "failed": "JobsFailed"}


class Report:
    """Collects what became of attempts: `done` and `ended` hear of them, `flush` writes once a batch, `finish` at last."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._stamp = telemetry.now_text()
        self._kinds: dict[str, _Kind] = {}

    def line(self, job: Job, word: str, seconds: float, error_class: str | None = None) -> str:
        """What is said of an attempt. May be called in any thread."""
        return (
            f'{{"level":"INFO","message":"job {word}","timestamp":"{self._stamp}","job":{job.id},'
            f'"kind":{quoted(job.kind)},"attempt":{job.attempt},"ms":{seconds * 1000:.1f},'
            f'"error_class":{"null" if error_class is None else quoted(error_class)},'
            f'"correlation_id":{quoted(job.correlation_id or "")}}}'
        )

    def done(self, attempts: Iterable[Ended]) -> None:
        """Attempts that plainly ended."""
        kinds: dict[str, list[Ended]] = {}
        for one in attempts:
            kinds.setdefault(one.work.job.kind, []).append(one)
        for kind, ended in kinds.items():
            self.ended(kind, "done", [one.seconds for one in ended], [one.line for one in ended])

    def ended(self, kind: str, word: str, seconds: Sequence[float], lines: Sequence[str]) -> None:
        """Attempts of a kind, with the seconds and the line of each. `word` is done, retried, failed, snoozed, suspended,
        discarded, given back, unknown or relabelled."""
        self._lines += lines
        self._kinds.setdefault(kind, _Kind()).add(word, seconds)

    def flush(self) -> None:
        """Write the lines collected so far."""
        if self._lines:
            telemetry.write_lines(self._lines)
            self._lines = []
        self._stamp = telemetry.now_text()

    def finish(self) -> dict[str, int]:
        """Write what is left, and the metrics; answers the counts of all kinds together."""
        for name, kind in self._kinds.items():
            values: dict[str, tuple[float | list[float], str]] = {
                metric: (kind.counts[word], "Count") for word, metric in _METRICS.items() if word in kind.counts
            }
            if values:
                values["JobDuration"] = (kind.durations, "Milliseconds")
                self._lines.append(telemetry.metrics(values, kind=name))
        self.flush()
        total: Counter[str] = Counter()
        for kind in self._kinds.values():
            total.update(kind.counts)
        return dict(total)


class _Kind:
    """The counts of one kind, and a fair sample of its durations."""

    __slots__ = ("counts", "durations", "seen")

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.durations: list[float] = []
        self.seen = 0

    def add(self, word: str, seconds: Sequence[float]) -> None:
        self.counts[word] = self.counts.get(word, 0) + len(seconds)
        for seen, one in enumerate(seconds, self.seen + 1):
            if len(self.durations) < DURATIONS:
                self.durations.append(round(one * 1000, 1))
            elif (place := int(random.random() * seen)) < DURATIONS:
                self.durations[place] = round(one * 1000, 1)
        self.seen += len(seconds)
