"""The database of a chaos run, and the hands that reach into it directly: what other languages and time itself do."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import psycopg
from psycopg import errors
from psycopg.types.json import Jsonb
from tidemill import migrations

from tests.chaos.plan import SLOTS, Insert, Late
from tests.chaos.slots import ROOT

NAME = "chaos"
PATIENCE = 30.0  # seconds that the server may be away


def prepare(server_url: str, url: str) -> None:
    """Create the database with its schema, the witness, and a role for each slot, by which the witness knows who is who."""
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"create database {NAME}")
        for slot in SLOTS:
            connection.execute(f"create role {slot} login superuser")
    migrations.migrate(url, ROOT / "sql")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((Path(__file__).parent / "witness.sql").read_bytes())


class Hands:
    """A connection around the links, for one thread; it outlives restarts of the server."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def run(self, text: str, parameters: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Run one statement, which must be safe to run twice, until the server answers. Raises psycopg.OperationalError when
        it stays away."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = psycopg.connect(self._url, autocommit=True, prepare_threshold=None)
                cursor = self._connection.execute(text.encode(), parameters)
                return cursor.fetchall() if cursor.description else []
            except errors.DeadlockDetected:
                continue
            except psycopg.OperationalError:
                self.close()
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def let_time_pass(self) -> None:
        """What waits for its backoff has waited."""
        self.run(
            "update jobs set run_at = now() - interval '1 second' where id = any(array("
            "select id from jobs where status = 'pending' and finished_at is null and run_at > now() "
            "order by id for update skip locked))"
        )

    def let_the_dead_lie(self) -> None:
        """Those that failed and of whom nobody was told have been dead for long."""
        self.run(
            "update jobs set finished_at = now() - interval '20 minutes' "
            "where status = 'failed' and alerted_at is null and finished_at > now() - interval '17 minutes'"
        )

    def insert(self, one: Insert) -> None:
        """As another language would, knowing nothing of limits, or one that nobody has declared."""
        self.run(
            "insert into jobs (kind, payload, key, limit_name) select %(kind)s::text, %(payload)s, %(key)s::text, %(limit)s "
            "where not exists (select from jobs where payload ->> 'purpose' = %(key)s) on conflict do nothing",
            {"kind": f"chaos.{one.kind}", "payload": Jsonb({"purpose": one.key}), "key": one.key, "limit": one.limit},
        )

    def be_late(self, late: Late) -> None:
        """The schedule was first seen so many days earlier than it was; once, and before it had its first slot."""
        self.run(
            "update schedules set first_seen = now() - make_interval(days => %(days)s) "
            "where name = %(name)s and last_slot is null",
            {"name": late.schedule, "days": late.days},
        )

    def unfinished(self, kind: str) -> list[int]:
        """The open jobs of a kind."""
        rows = self.run("select id from jobs where kind = %(kind)s and finished_at is null", {"kind": kind})
        return [row[0] for row in rows]

    def end_lease(self, job: int) -> None:
        """The time of the job's lease is over."""
        self.run(
            "update jobs set locked_until = now() - interval '1 second' where id = %(job)s and status = 'running'",
            {"job": job},
        )

    def is_of_another(self, job: int, slot: str) -> bool:
        """Whether the job has been running for a while under a claim of another slot."""
        return bool(self.run(
            "select exists (select from jobs j join witness.moves m on m.job_id = j.id and m.claim_id = j.claim_id"
            " where j.id = %(job)s and j.status = 'running' and j.started_at < now() - interval '0.2 seconds'"
            " and m.became = 'running' and m.by <> %(slot)s)",
            {"job": job, "slot": slot},
        )[0][0])  # fmt: skip

    def pick(self, condition: str, rank: float, table: str = "jobs") -> int | None:
        """The id at a rank from 0 to 1 among the rows where the condition holds."""
        rows = self.run(
            f"with found as (select id from {table} where {condition}) "
            "select id from found order by id offset (select floor(%(rank)s * count(*))::bigint from found) limit 1",
            {"rank": rank},
        )
        return rows[0][0] if rows else None

    def at_rest(self) -> bool:
        """Nothing is open, somebody was told of each dead job, and each schedule has had its slots."""
        return not self.run(
            "select exists (select from jobs where finished_at is null)"
            " or exists (select from jobs where status = 'failed' and alerted_at is null)"
            " or exists (select from schedules where last_slot is null)"
        )[0][0]
