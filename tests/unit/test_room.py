"""How many jobs a worker holds: no more than it starts soon, so that none waits for it which another could run."""

from __future__ import annotations

import pytest
from tidemill.claimer import LARGEST_BATCH, Claimer
from tidemill.db import Database


@pytest.fixture
def claimer() -> Claimer:
    return Claimer(Database("postgresql://nobody@127.0.0.1:1/x"), threads=4, lease=60, worker="test")


def test_at_first_it_takes_a_job_for_each_idle_runner(claimer: Claimer) -> None:
    assert [claimer.room(running, 0) for running in (0, 3, 4)] == [4, 1, 0]


def test_slow_jobs_are_held_for_a_tenth_of_a_second(claimer: Claimer) -> None:
    claimer.ended(100, 2.0)  # 20 ms each: four runners start 20 in that time
    assert claimer.room(running=0, waiting=0) == 4 + 20
    assert claimer.room(running=4, waiting=20) == 0


def test_the_first_few_quick_jobs_are_not_believed_to_be_like_the_rest(claimer: Claimer) -> None:
    claimer.ended(2, 0.00002)
    assert claimer.room(running=0, waiting=0) == 4 + 2 * 16


def test_many_quick_jobs_fill_a_batch(claimer: Claimer) -> None:
    claimer.ended(1_000, 0.01)
    assert claimer.room(running=4, waiting=0) == LARGEST_BATCH
