"""What parking is worth in a burst: `python -m bench.parking [--events N]`.

The same deliveries straight through the intake, one by one, and out of the parking queue by the absorb function, in batches;
each in processes of their own and on a fresh database of one embedded Postgres, default durability. SQS is left out:
messages are handed over in memory. Ratios are to the first line of the same run. With `--delay` each round trip to the
database takes that many milliseconds more, as over a network.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from tidemill import Event, NewJob, Source, park
from tidemill.app import App
from tidemill.db import connect
from tidemill.handlers import Handler
from tidemill.model import Delivery
from tidemill.settings import Settings
from tidemill.verify import header, hmac_sha256

from bench.lines import fresh
from local.postgres import Postgres

ROOT = Path(__file__).parents[1]
SECRET = "a-secret"
BODY = {"customer": "Ada", "items": ["x" * 40] * 4}


def routes(event: Event) -> Iterator[NewJob]:
    yield NewJob("work", event.json, key=event.json["number"])


def app(url: str, delay: float) -> App:
    source = Source("shop", hmac_sha256("X-Sign", secret="SHOP_WEBHOOK_SECRET"), header("X-Id"))
    source.route(routes)
    one = App(
        Settings({"DATABASE_URL": url, "SHOP_WEBHOOK_SECRET": SECRET}), [Handler("work", lambda job, ctx: None)], [source]
    )
    execute = one.database.execute

    def slowly(name: str, parameters: Any = None) -> Any:
        time.sleep(delay)
        return execute(name, parameters)

    if delay:
        one.database.execute = slowly  # type: ignore[method-assign]
    return one


def straight(url: str, delay: float, numbers: range) -> None:
    intake = app(url, delay).intake
    for number in numbers:
        body = json.dumps({**BODY, "number": number})
        signature = hmac.new(SECRET.encode(), body.encode(), hashlib.sha256).hexdigest()
        headers = {"X-Sign": signature, "X-Id": str(number)}
        event = {"httpMethod": "POST", "path": "/hooks/shop", "headers": headers, "body": body}
        assert intake.handle(event, None)["statusCode"] == 202


def out_of_the_queue(size: int, url: str, delay: float, numbers: range) -> None:
    absorb = app(url, delay).absorb
    at = datetime.now(UTC)
    for start in range(0, len(numbers), size):
        deliveries = [
            Delivery(f"{number:032x}", "shop", str(number), {}, json.dumps({**BODY, "number": number}).encode(), at, "c")
            for number in numbers[start : start + size]
        ]
        records = [{"messageId": one.token, "body": park.texts(one)[0]} for one in deliveries]
        assert absorb.handle({"Records": records}, None) == {"batchItemFailures": []}


Way = Callable[[str, float, range], None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000, help="how many (default 10000)")
    parser.add_argument("--delay", type=float, default=0, help="milliseconds more for each round trip (default 0)")
    chosen = parser.parse_args()
    ways: list[tuple[str, Way]] = [
        ("straight", straight),
        *((f"absorbed, batches of {size}", partial(out_of_the_queue, size)) for size in (1, 5, 10)),
    ]
    with tempfile.TemporaryDirectory(prefix="tidemill-bench-") as folder, Postgres(Path(folder) / "data") as postgres:
        print(f"{os.cpu_count()} cores, shared by the server and all processes; {chosen.events} events with a job each")
        base = 0.0
        for processes in (1, 4):
            for name, way in ways:
                rate = measure(postgres, way, chosen.delay / 1000, chosen.events, processes)
                base = base or rate
                print(f"  {name:24} {processes} at once {rate:8.0f} events/s {rate / base:6.2f}", flush=True)


def measure(postgres: Postgres, way: Way, delay: float, count: int, processes: int) -> float:
    """Events a second, from the moment when all processes are up to the moment when the last one has ended."""
    with fresh(postgres, "bench_parking") as url:
        context = multiprocessing.get_context("fork")
        ready = context.Barrier(processes + 1)
        share = count // processes
        workers = [
            context.Process(target=work, args=(ready, way, url, delay, range(number * share, (number + 1) * share)))
            for number in range(processes)
        ]
        for worker in workers:
            worker.start()
        ready.wait()
        began = time.perf_counter()
        for worker in workers:
            worker.join()
        seconds = time.perf_counter() - began
        with connect(url) as connection:  # all of it was done, or the rate says nothing
            assert connection.execute("select (select count(*) from events), (select count(*) from jobs)").fetchone() == (
                share * processes,
                share * processes,
            )
    return share * processes / seconds


def work(ready: Any, way: Way, url: str, delay: float, numbers: range) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    ready.wait()
    way(url, delay, numbers)


if __name__ == "__main__":
    main()
