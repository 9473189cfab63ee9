"""Procrastinate, with as many jobs at once as are useful for jobs that do nothing, until its line is empty."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from procrastinate import App, PsycopgConnector


def ready(url: str, count: int) -> Callable[[], int]:
    runner = asyncio.Runner()
    app, done = runner.run(_prepare(url, count))
    return lambda: runner.run(_drain(app, done))


async def _prepare(url: str, count: int) -> tuple[App, list[int]]:
    app = App(connector=PsycopgConnector(conninfo=url, max_size=4))
    done = [0]

    @app.task(name="nothing")
    async def nothing(x: str) -> None:
        done[0] += 1

    await app.open_async()
    await app.schema_manager.apply_schema_async()
    for _ in range(0, count, 1000):
        await nothing.batch_defer_async(*[{"x": "a" * 180}] * 1000)
    await app.connector.execute_query_async("analyze")
    return app, done


async def _drain(app: App, done: list[int]) -> int:
    await app.run_worker_async(wait=False, concurrency=20, listen_notify=False, install_signal_handlers=False)
    return done[0]
