"""The arithmetic of bench/curves.py and what bench/growth.py measures where."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.curves import apart, flat, medians, short
from bench.growth import setting


def run(at: int, done: int, clock: float, axis: str = "ready", name: str = "Tidemill") -> dict[str, object]:
    return {"axis": axis, "at": at, "name": name, "done": done, "clock": clock, "cpu": clock / 2}


def test_a_curve_goes_through_the_medians_of_the_rates_in_the_order_of_its_axis() -> None:
    runs = [run(100, 30, 3.0), run(10, 40, 2.0), run(10, 300, 3.0), run(10, 90, 3.0), run(10, 1, 1.0, axis="finished")]
    runs.append(run(10, 8, 4.0, name="PgQueuer"))
    assert medians(runs, "ready", "clock") == {"Tidemill": [(10, 30.0), (100, 10.0)], "PgQueuer": [(10, 2.0)]}


def test_the_median_of_two_rounds_lies_between_them() -> None:
    assert medians([run(10, 30, 3.0), run(10, 60, 3.0)], "ready", "clock") == {"Tidemill": [(10, 15.0)]}


def test_jobs_are_counted_by_the_clock_or_by_the_cpu() -> None:
    assert medians([run(10, 30, 3.0)], "ready", "cpu") == {"Tidemill": [(10, 20.0)]}


def test_an_axis_that_was_not_measured_has_no_curves() -> None:
    assert medians([run(10, 30, 3.0)], "churned", "clock") == {}


def test_flat_compares_the_end_with_the_beginning() -> None:
    assert flat([(0, 200.0), (10, 500.0), (20, 50.0)]) == 0.25
    assert flat([(0, 200.0)]) == 1


def test_names_that_have_room_stay_where_they_are() -> None:
    assert apart([0.9, 0.1, 0.5], 0.2) == pytest.approx([0.9, 0.1, 0.5])


def test_names_too_near_to_each_other_give_way_by_halves() -> None:
    assert apart([0.5, 0.5], 0.2) == pytest.approx([0.4, 0.6])
    assert apart([0.56, 0.5, 0.0], 0.2) == pytest.approx([0.63, 0.43, 0.0])


def test_three_at_one_place_stand_around_it() -> None:
    assert apart([0.5, 0.5, 0.5], 0.1) == pytest.approx([0.4, 0.5, 0.6])


@given(st.lists(st.floats(0, 1), max_size=8))
def test_names_end_apart_in_their_old_order_and_around_their_old_middle(places: list[float]) -> None:
    moved = apart(places, 0.1)
    ordered = [moved[index] for index in sorted(range(len(places)), key=places.__getitem__)]
    assert all(after - before >= 0.1 - 1e-9 for before, after in pairwise(ordered))
    assert sum(moved) == pytest.approx(sum(places))


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0"), (7.25, "7.2"), (44, "44"), (949, "950"), (996, "1k"), (1_234, "1.2k"), (50_000, "50k"),
        (81_449, "81k"), (250_000, "250k"), (999_000, "1M"), (1_000_000, "1M"), (5_000_000, "5M"),
    ],
)  # fmt: skip
def test_a_number_is_said_with_two_digits(number: float, said: str) -> None:
    assert short(number) == said


def test_a_backlog_is_the_line_itself_and_anything_else_stands_beside_a_line() -> None:
    assert setting("ready", 30_000, 80_000) == (30_000, "nothing")
    assert setting("finished", 500_000, 80_000) == (80_000, "finished:500000")
    assert setting("churned", 25_000, 80_000) == (80_000, "churned:25000")
    assert setting("churned", 0, 80_000) == (80_000, "nothing")
