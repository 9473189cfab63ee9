"""The intake: functions/intake/app.py with signed deliveries in both of API Gateway's formats, two jobs each."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.deliveries import SECRET, body, format_1, format_2
from bench.lines import ROOT, schema
from bench.measure import peak

WARM = 20
LARGE = 1024 * 1024


def ready(url: str, count: int) -> Callable[[], dict[str, Any]]:
    schema(url)
    os.environ |= {"DATABASE_URL": url, "AUTOMATIONS": "bench.automation", "BENCH_WEBHOOK_SECRET": SECRET}
    sys.path.insert(0, str(ROOT / "functions/intake"))
    from app import handler

    def take(event: dict[str, Any]) -> None:
        answer = handler(event, None)
        assert answer["statusCode"] == 202, answer

    for number in range(WARM):
        take(format_1(body(number)) if number % 2 else format_2(body(number)))
    trips = _round_trips(lambda: take(format_2(body())))
    before = peak(os.getpid())
    take(format_2(body(size=LARGE - 200)))
    grown = peak(os.getpid()) - before
    events = [format_1(body(number)) if number % 2 else format_2(body(number)) for number in range(count)]

    def drain() -> dict[str, Any]:
        times = []
        for event in events:
            began = time.perf_counter()
            take(event)
            times.append(time.perf_counter() - began)
        return {"done": count, "p50": statistics.median(times), "round_trips": trips, "large_body": grown}

    return drain


def _round_trips(act: Callable[[], None]) -> int:
    """How often the client waits for the server, counted in libpq's own trace."""
    from tidemill import app

    connection = app.current().database.connection()
    with tempfile.NamedTemporaryFile() as trace:
        connection.pgconn.trace(os.open(trace.name, os.O_WRONLY))
        act()
        connection.pgconn.untrace()
        lines = Path(trace.name).read_text().splitlines()
    return sum("\tF\t" in line and ("\tSync" in line or "\tQuery" in line) for line in lines)
