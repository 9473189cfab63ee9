"""How far each stage carries: `python -m bench.scaling [--jobs N]`.

The same jobs by one drain, by several, and out to a queue and back, each in processes of their own and on a fresh database
of one embedded Postgres, default durability. SQS is left out: messages are handed over in memory, so what is measured is
what the stages cost the database and this machine. Ratios are to the first line of the same run.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tidemill.app import App
from tidemill.db import connect
from tidemill.handlers import Handler
from tidemill.outbox import Target
from tidemill.relay import Relay
from tidemill.settings import Settings

from bench.lines import fresh
from local.postgres import Postgres

ROOT = Path(__file__).parents[1]
WAIT = 0.02  # seconds that a handler waits for somebody else
BATCH = 10  # messages that one call of the consume function gets


def nothing(job: Any, ctx: Any) -> None:
    return None


def wait(job: Any, ctx: Any) -> None:
    time.sleep(WAIT)


class Client:
    """Takes every batch, at once."""

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> Any:  # noqa: N803
        return {"Successful": [{"Id": one["Id"]} for one in Entries]}


def app(url: str, function: Callable[[Any, Any], None], via: str | None = None) -> App:
    settings = Settings({"DATABASE_URL": url, "DRAIN_LINGER": "0"})
    return App(settings, [Handler("work", function, timeout=10, via=via)])


def drain(url: str, function: Callable[[Any, Any], None], _: list[int]) -> None:
    app(url, function).drain.handle(None, None)


def send_out(url: str, function: Callable[[Any, Any], None], _: list[int]) -> None:
    app(url, function, via="sqs").drain.handle(None, None)


def relay(url: str, function: Callable[[Any, Any], None], _: list[int]) -> None:
    one = app(url, function)
    target = Target("sqs", "https://sqs.us-east-1.amazonaws.com/123456789012/jobs")
    while Relay(one.database, {"jobs": target}, one.log, one.alerts, lambda target: Client()).handle(None, None)["sent"]:
        pass


def consume(url: str, function: Callable[[Any, Any], None], ids: list[int]) -> None:
    one = app(url, function, via="sqs").consume
    for start in range(0, len(ids), BATCH):
        records = [{"messageId": str(job), "body": json.dumps({"job": job})} for job in ids[start : start + BATCH]]
        one.handle({"Records": records}, None)


Stage = Callable[[str, Callable[[Any, Any], None], list[int]], None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000, help="jobs that do nothing (default 10000)")
    count = parser.parse_args().jobs
    waiting = count // 5
    with tempfile.TemporaryDirectory(prefix="tidemill-bench-") as folder, Postgres(Path(folder) / "data") as postgres:
        print(f"{os.cpu_count()} cores, shared by the server and all processes; {count} jobs that do nothing")
        base = 0.0
        for name, stage, processes in [
            ("one drain", drain, 1),
            ("two drains", drain, 2),
            ("four drains", drain, 4),
            ("sent out by a drain", send_out, 1),
            ("relayed", relay, 1),
            ("consumed by one", consume, 1),
            ("consumed by four", consume, 4),
        ]:
            rate = measure(postgres, stage, nothing, count, processes)
            base = base or rate
            print(f"  {name:22} {rate:8.0f} jobs/s {rate / base:6.2f}", flush=True)
        print(f"{waiting} jobs that wait for {WAIT * 1000:g} ms")
        base = 0.0
        for name, stage, processes in [
            ("one drain", drain, 1),
            ("two drains", drain, 2),
            ("four drains", drain, 4),
            ("consumed by one", consume, 1),
            ("consumed by four", consume, 4),
            ("consumed by eight", consume, 8),
        ]:
            rate = measure(postgres, stage, wait, waiting, processes)
            base = base or rate
            print(f"  {name:22} {rate:8.0f} jobs/s {rate / base:6.2f}", flush=True)


def measure(postgres: Postgres, stage: Stage, function: Callable[[Any, Any], None], count: int, processes: int) -> float:
    """Jobs a second, from the moment when all processes are up to the moment when the last one has ended."""
    with fresh(postgres, "bench_scaling") as url:
        with connect(url) as connection:
            out = "now()" if stage is consume else "null"
            rows = connection.execute(
                "insert into jobs (kind, payload, sent_at) "
                f"select 'work', jsonb_build_object('x', repeat('a', 180)), {out} from generate_series(1, %s) returning id",  # type: ignore[arg-type]
                (count,),
            ).fetchall()
            if stage is relay:
                connection.execute(
                    "insert into outbox (topic, payload) select 'jobs', jsonb_build_object('job', id) from jobs"
                )
            connection.execute("analyze")
        ids = [row[0] for row in rows]
        context = multiprocessing.get_context("fork")
        ready = context.Barrier(processes + 1)
        workers = [
            context.Process(target=work, args=(ready, stage, url, function, ids[number::processes]))
            for number in range(processes)
        ]
        for worker in workers:
            worker.start()
        ready.wait()
        began = time.perf_counter()
        for worker in workers:
            worker.join()
        seconds = time.perf_counter() - began
        check(url, stage, count)
    return count / seconds


def work(ready: Any, stage: Stage, url: str, function: Callable[[Any, Any], None], ids: list[int]) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    ready.wait()
    stage(url, function, ids)


def check(url: str, stage: Stage, count: int) -> None:
    """All of it was done, or the rate says nothing."""
    what = {
        send_out: "select count(*) from outbox",
        relay: "select count(*) from outbox where published_at is not null",
    }.get(stage, "select count(*) from jobs where status = 'done'")
    with connect(url) as connection:
        assert connection.execute(what).fetchone() == (count,), stage  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
