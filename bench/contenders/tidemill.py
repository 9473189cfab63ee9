"""Tidemill: functions/drain/app.py as Lambda would call it, one invocation after another, with everything that a drain does
on: fence, fairness, limits, leases, the watch over timeouts, a line of log for each job, metrics."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from bench.lines import ROOT, fill, schema

INVOCATION = 300.0  # seconds, as in template.yaml


class LambdaContext:
    log_stream_name = "bench"
    aws_request_id = "bench"

    def __init__(self, seconds: float) -> None:
        self._ends_at = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        return int((self._ends_at - time.monotonic()) * 1000)


def ready(url: str, count: int) -> Callable[[], int]:
    schema(url)
    invoke = function(url)
    fill(url, count)
    return lambda: _drain(invoke, count)


def function(url: str) -> Callable[[float], int]:
    """The drain function, warm: call it with the seconds that an invocation has, and it answers how many jobs are done."""
    os.environ |= {
        "DATABASE_URL": url,
        "AUTOMATIONS": "bench.automation",
        "DRAIN_LINGER": "0",
        "BENCH_WEBHOOK_SECRET": "bench",
    }
    sys.path.insert(0, str(ROOT / "functions/drain"))
    from app import handler

    handler({}, LambdaContext(INVOCATION))
    return lambda seconds: int(handler({}, LambdaContext(seconds)).get("done", 0))


def _drain(invoke: Callable[[float], int], count: int) -> int:
    done = 0
    while done < count and (more := invoke(INVOCATION)):
        done += more
    return done
