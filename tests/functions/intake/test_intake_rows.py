"""A job that an event makes is the very row that `ctx.enqueue` would have made of it: both ways, and through the queue that
parks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tidemill import NewJob, queue
from tidemill.db import Database
from tidemill.model import Delivery
from tidemill.newjob import rows
from tidemill.store import Arriving, Routed, Store
from tidemill.wire import Connection

LIMITS = {"limited": 'ma\u00efl "x" \\'}

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
scalars = (
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False) | texts
)
payloads = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=zones)
jobs = st.builds(
    NewJob,
    texts.filter(bool) | st.just("limited"),
    payloads,
    key=st.none() | texts | st.integers(-(10**20), 10**20),
    run_at=times,
    max_attempts=st.none() | st.integers(1, 1000),
    tenant=texts,
    priority=st.integers(-32768, 32767),
)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


def arriving(database: Database, yielded: list[NewJob]) -> Routed:
    delivery = Delivery(os.urandom(16).hex(), "shop", None, {}, b"", datetime.now(UTC), "c")
    return Routed(Arriving(database, delivery), rows(yielded, LIMITS), None)


def stored(connection: Connection) -> list[Any]:
    found = connection.execute(
        "delete from jobs returning kind, payload::text, key, run_at, max_attempts, tenant, priority, limit_name"
    ).fetchall()
    return sorted(found, key=repr)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(jobs, min_size=1, max_size=4, unique_by=lambda job: (job.kind, str(job.key or id(job)))))
def test_a_job_of_an_event_is_the_row_that_enqueue_makes(
    database: Database, connection: Connection, yielded: list[NewJob]
) -> None:
    store = Store(database)
    assert store.put(arriving(database, yielded)).jobs == len(yielded)
    by_intake = stored(connection)
    (parked,) = store.put_parked([arriving(database, yielded)])
    assert parked is not None and parked.jobs == len(yielded)
    by_absorb = stored(connection)
    queue.enqueue(connection, yielded, limits=LIMITS)
    assert by_intake == by_absorb == stored(connection)


def test_jobs_that_share_a_payload_each_have_it_and_others_have_their_own(
    database: Database, connection: Connection
) -> None:
    shared = {"a": [1]}
    yielded = [NewJob("a", shared), NewJob("b", None), NewJob("c", shared), NewJob("d", {"a": [2]}), NewJob("e", shared)]
    Store(database).put(arriving(database, yielded))
    found = connection.execute("select kind, payload from jobs order by id").fetchall()
    assert found == [("a", {"a": [1]}), ("b", None), ("c", {"a": [1]}), ("d", {"a": [2]}), ("e", {"a": [1]})]


def test_a_delay_counts_from_the_moment_of_storing(database: Database, connection: Connection) -> None:
    Store(database).put(arriving(database, [NewJob("a", delay=0.25), NewJob("b", delay=timedelta(days=1, microseconds=1))]))
    found = connection.execute("select extract(epoch from run_at - created_at) from jobs order by kind").fetchall()
    assert [float(row[0]) for row in found] == [0.25, 86400.000001]
