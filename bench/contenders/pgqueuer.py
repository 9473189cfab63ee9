"""PgQueuer, with asyncpg and uvloop, in batches of 1,000, in its drain mode."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import asyncpg
import uvloop
from pgqueuer import Job, PgQueuer, Queries
from pgqueuer.db import AsyncpgDriver
from pgqueuer.types import QueueExecutionMode

from bench.beside import HOUR, beside, seconds

PAYLOAD = b"a" * 200
LOG = """
insert into pgqueuer_log (job_id, status, priority, entrypoint, aggregated)
select -number, status::pgqueuer_status, 0, 'nothing', true
from generate_series(1, $1::int) number, unnest(array['queued', 'picked', 'successful']) status
"""

_kept: list[asyncpg.Connection] = []


def ready(url: str, count: int) -> Callable[[], int]:
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    runner.run(_prepare(url, count))
    queue = runner.run(_worker(url))
    return lambda: runner.run(_drain(queue, seconds()))


async def _prepare(url: str, count: int) -> None:
    connection = await asyncpg.connect(url)
    queries = Queries(AsyncpgDriver(connection))
    await queries.install()
    what, number = beside()
    if what == "finished":
        await connection.execute(LOG, number)  # all that PgQueuer keeps of a job
    elif what == "churned":
        _kept.append(await asyncpg.connect(url))
        await _kept[0].execute("begin isolation level repeatable read; select count(*) from pgqueuer")
        await _fill(queries, number)
        await _drain(await _worker(url), HOUR)
    await _fill(queries, count)
    await connection.execute("vacuum analyze")


async def _fill(queries: Queries, count: int) -> None:
    for _ in range(0, count, 1000):
        await queries.enqueue(["nothing"] * 1000, [PAYLOAD] * 1000, [0] * 1000)


async def _worker(url: str) -> PgQueuer:
    queue = PgQueuer(AsyncpgDriver(await asyncpg.connect(url)))
    queue.done = 0

    @queue.entrypoint("nothing")
    async def nothing(job: Job) -> None:
        queue.done += 1

    return queue


async def _drain(queue: PgQueuer, limit: float) -> int:
    asyncio.get_running_loop().call_later(limit, queue.qm.shutdown.set)
    await queue.qm.run(batch_size=1000, mode=QueueExecutionMode.drain)
    return queue.done
