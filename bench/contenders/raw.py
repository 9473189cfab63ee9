"""The limit: nothing but settling the last batch and claiming the next in one statement, 500 at a time, fenced, from a
watermark. No tenants, no limits, no threads, no log; whatever else a queue does, it does on top of this."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import psycopg

from bench.lines import fill, schema

BATCH = 500

STATEMENT = """
with settled as (
  update jobs set status = 'done', locked_until = null, finished_at = now()
  where id = any(%(ids)s) and status = 'running' and claim_id = any(%(tokens)s) returning id)
update jobs set status = 'running', attempts = attempts + 1, locked_until = now() + interval '60 s', claim_id = %(token)s
where id = any(array(
  select id from jobs
  where finished_at is null and status = 'pending' and run_at <= now()
    and limit_name = '' and tenant = '' and priority = 0 and (run_at, id) > (%(run_at)s, %(id)s)
  order by run_at, id limit %(size)s for update skip locked))
returning id, kind, payload, attempts, run_at
"""


def ready(url: str, count: int) -> Callable[[], int]:
    schema(url)
    fill(url, count)
    connection = psycopg.connect(url, autocommit=True, prepare_threshold=None)

    def drain() -> int:
        ids: list[int] = []
        token, done, mark = 1, 0, (datetime(2000, 1, 1, tzinfo=UTC), 0)
        while True:
            parameters = {"ids": ids, "tokens": [token], "token": token + 1, "run_at": mark[0], "id": mark[1], "size": BATCH}
            rows = connection.execute(STATEMENT, parameters).fetchall()
            done += len(ids)
            if not rows:
                return done
            token += 1
            ids = [row[0] for row in rows]
            mark = max((row[4], row[0]) for row in rows)

    return drain
