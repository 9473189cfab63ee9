"""From 202 to the handler's first line, under the local run: HTTP, signature, commit, wake-up, claim.

The load is open: a delivery goes out at its time, whatever became of those before it.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

import psycopg
import requests

from bench.deliveries import SECRET, body, signed
from bench.lines import ROOT
from local.stack import Stack

SENDERS = 8


class Pickup(NamedTuple):
    """`sent` deliveries at `rate` a second wanted and `reached` got; milliseconds from an answer to the handler's first
    line, below 0 where the handler was first; and the longest of these waits in the first and in the second half."""

    rate: int
    sent: int
    reached: float  # deliveries a second
    p50: float
    p99: float
    first_half: float
    second_half: float


def measure(rate: int, seconds: float) -> Pickup:
    with tempfile.TemporaryDirectory(prefix="tidemill-bench-") as folder:
        environ = {"AUTOMATIONS": "bench.automation", "BENCH_WEBHOOK_SECRET": SECRET, "PYTHONPATH": str(ROOT)}
        with Stack(environ, folder=Path(folder)) as stack:
            _send(stack.url, rate=20, count=40)  # so that processes and connections are there
            time.sleep(2)
            answered, took = _send(stack.url, rate, int(rate * seconds))
            began = _began(stack.database_url, list(answered), patience=60)
    waits = sorted((began[event], (began[event] - at) * 1000) for event, at in answered.items())
    half = len(waits) // 2
    milliseconds = [wait for _, wait in waits]
    cuts = statistics.quantiles(milliseconds, n=100)
    return Pickup(
        rate, len(waits), len(waits) / took, statistics.median(milliseconds), cuts[98],
        max(milliseconds[:half]), max(milliseconds[half:]),
    )  # fmt: skip


def _send(url: str, rate: int, count: int) -> tuple[dict[int, float], float]:
    """When each event was answered, by its id, in epoch seconds; and how long sending took, in seconds."""
    answered: dict[int, float] = {}
    due: SimpleQueue[tuple[float, int]] = SimpleQueue()
    start = time.time() + 0.2
    for number in range(count):
        due.put((start + number / rate, number))

    def sender() -> None:
        with requests.Session() as session:
            while True:
                try:
                    at, number = due.get_nowait()
                except Empty:
                    return
                time.sleep(max(at - time.time(), 0))
                data = body(number, jobs=1, kind="bench.began")
                answer = session.post(f"{url}/hooks/bench", data=data, headers=signed(data), timeout=30)
                if answer.status_code == 202:
                    answered[answer.json()["id"]] = time.time()

    threads = [threading.Thread(target=sender) for _ in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answered, time.time() - start


def _began(url: str, events: list[int], patience: float) -> dict[int, float]:
    """When the handler of each event began, in epoch seconds. Raises TimeoutError."""
    give_up = time.monotonic() + patience
    with psycopg.connect(url, autocommit=True) as connection:
        while True:
            rows = connection.execute(
                "select event_id, result::float8 from jobs where event_id = any(%s) and status = 'done'", (events,)
            ).fetchall()
            if len(rows) == len(events):
                return dict(rows)
            if time.monotonic() > give_up:
                raise TimeoutError(f"{len(events) - len(rows)} of {len(events)} jobs did not begin in {patience:g} s")
            time.sleep(0.2)
