"""The limit of an intake: an event and two jobs in one statement, with nothing verified, parsed or routed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import psycopg

from bench.deliveries import body
from bench.lines import schema

STATEMENT = """
with arrived as (
  insert into events (source, dedup_key, headers, body, correlation_id, token)
  values ('bench', %(key)s, '{}', %(body)b, 'bench', %(token)s::uuid) on conflict do nothing returning id)
insert into jobs (kind, payload, event_id)
select 'bench.nothing', %(payload)s::jsonb, id from arrived, generate_series(1, 2) returning event_id
"""


def ready(url: str, count: int) -> Callable[[], dict[str, Any]]:
    schema(url)
    connection = psycopg.connect(url, autocommit=True, prepare_threshold=None)
    bodies = [body(number) for number in range(count)]
    tokens = [f"00000000-0000-4000-8000-{number:012d}" for number in range(count)]

    def drain() -> dict[str, Any]:
        times = []
        prefix = time.time_ns()
        for number, one in enumerate(bodies):
            began = time.perf_counter()
            parameters = {"key": f"{prefix}-{number}", "body": one, "token": tokens[number], "payload": one.decode()}
            connection.execute(STATEMENT, parameters).fetchall()
            times.append(time.perf_counter() - began)
        return {"done": count, "p50": statistics.median(times)}

    return drain
