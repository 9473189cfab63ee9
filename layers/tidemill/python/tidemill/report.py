"""What a drain says: one line for each attempt, written a batch at a time, and its counts and durations as metrics.

The line is put together by hand: a general logger would cost more than the claim, the run and the settling of a small job.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict

from tidemill import telemetry
from tidemill.model import Job

DURATIONS = 100  # values that one embedded metric may hold

_METRICS = {"done": "JobsDone", "retried": "JobsRetried", "failed": "JobsFailed"}


class Report:
    """Collects what became of attempts. `ended` is called for each, `flush` once a batch, `finish` at the end."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._stamp = telemetry.now_text()
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._durations: dict[str, list[float]] = defaultdict(list)
        self._seen: Counter[str] = Counter()

    def ended(self, job: Job, word: str, seconds: float, error_class: str | None = None) -> None:
        """`word` is done, retried, failed, snoozed, suspended, discarded, given back, unknown or relabelled."""
        self._counts[job.kind][word] += 1
        milliseconds = seconds * 1000
        self._lines.append(
            f'{{"level":"INFO","message":"job {word}","timestamp":"{self._stamp}","job":{job.id},'
            f'"kind":{json.dumps(job.kind)},"attempt":{job.attempt},"ms":{milliseconds:.1f},'
            f'"error_class":{json.dumps(error_class)},"correlation_id":{json.dumps(job.correlation_id or "")}}}'
        )
        self._sample(job.kind, milliseconds)

    def flush(self) -> None:
        """Write the lines collected so far."""
        if self._lines:
            telemetry.write_lines(self._lines)
            self._lines = []
        self._stamp = telemetry.now_text()

    def finish(self) -> dict[str, int]:
        """Write what is left, and the metrics; answers the counts of all kinds together."""
        for kind, counts in self._counts.items():
            values: dict[str, tuple[float | list[float], str]] = {
                metric: (counts[word], "Count") for word, metric in _METRICS.items() if counts[word]
            }
            if values:
                values["JobDuration"] = (self._durations[kind], "Milliseconds")
                self._lines.append(telemetry.metrics(values, kind=kind))
        self.flush()
        total: Counter[str] = Counter()
        for counts in self._counts.values():
            total.update(counts)
        return dict(total)

    def _sample(self, kind: str, milliseconds: float) -> None:
        self._seen[kind] += 1
        durations = self._durations[kind]
        if len(durations) < DURATIONS:
            durations.append(round(milliseconds, 1))
        elif (place := random.randrange(self._seen[kind])) < DURATIONS:
            durations[place] = round(milliseconds, 1)
