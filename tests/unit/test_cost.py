"""The arithmetic of bench/cost.py, against sums done by hand."""

from __future__ import annotations

import pytest

from bench.cost import Measured, million


def test_a_million_events_are_priced_part_by_part() -> None:
    measured = Measured(intake_ms=20, intake_mb=512, job_ms=1, drain_mb=1024, jobs_a_drain=100, log_bytes=2000)
    assert million(measured) == pytest.approx(
        {
            "API Gateway": 1.00,
            "intake, requests": 0.20,
            "intake, compute": 10_000 * 0.0000133334,  # a million times 0.02 s of half a gigabyte
            "drain, requests": 0.002,
            "drain, compute": 1_000 * 0.0000133334,
            "log": 2e9 / 2**30 * 0.50,
        }
    )


def test_the_parts_of_the_defaults_come_to_what_the_docs_say() -> None:
    assert sum(million(Measured()).values()) == pytest.approx(1.88, abs=0.005)


def test_twice_the_memory_costs_twice_the_compute_and_nothing_else() -> None:
    once, twice = million(Measured(intake_mb=256)), million(Measured(intake_mb=512))
    assert twice["intake, compute"] == pytest.approx(2 * once["intake, compute"])
    assert {name for name in once if once[name] != twice[name]} == {"intake, compute"}


def test_events_that_come_one_by_one_cost_what_the_docs_say() -> None:
    parts = million(Measured(job_ms=100, jobs_a_drain=1))
    assert parts["drain, requests"] + parts["drain, compute"] == pytest.approx(0.87, abs=0.005)
    assert sum(parts.values()) == pytest.approx(2.59, abs=0.005)
