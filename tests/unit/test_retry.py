from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemill.retry import backoff, parse_retry_after, pause

NOW = datetime(2027, 4, 30, 6, 0, tzinfo=UTC).timestamp()
DAY = 86400.0


def no_jitter() -> float:
    return 0.0


@pytest.mark.parametrize(
    ("attempt", "seconds"), [(1, 10), (2, 20), (3, 40), (4, 80), (8, 1280), (9, 2560), (10, 3600), (11, 3600), (2000, 3600)]
)
def test_the_delay_doubles_from_ten_seconds_to_an_hour(attempt: int, seconds: float) -> None:
    """B49"""
    assert backoff(attempt, no_jitter) == seconds


@pytest.mark.parametrize("attempt", [0, -1, -(10**30), 10**30])
def test_an_absurd_attempt_still_has_a_delay(attempt: int) -> None:
    """B49"""
    assert 0 < backoff(attempt) <= 3600


@given(st.integers(min_value=1, max_value=2000), st.floats(min_value=0, max_value=1, exclude_max=True))
def test_the_jitter_takes_off_a_fifth_at_most_and_stays_inside_the_cap(attempt: int, rand: float) -> None:
    """B50"""
    plain = backoff(attempt, no_jitter)
    assert plain * 0.8 <= backoff(attempt, lambda: rand) <= plain <= 3600


def test_delays_at_the_cap_are_spread() -> None:
    """B50"""
    delays = {backoff(50) for _ in range(10_000)}
    assert all(2880 < delay <= 3600 for delay in delays)
    assert len(delays) > 9_000


@pytest.mark.parametrize(("asked", "seconds"), [(0.129, 1), (1, 1), (1.5, 2), (37, 37), (3600, 3600), (DAY, DAY)])
def test_a_pause_is_as_long_as_was_asked_for_and_a_fraction_is_rounded_up(asked: float, seconds: float) -> None:
    """B51"""
    assert pause(asked, no_jitter) == seconds


@pytest.mark.parametrize("asked", [99999999999, 10**400, 1e300, math.inf])
def test_a_pause_is_at_most_a_day(asked: float) -> None:
    """B53"""
    assert pause(asked, lambda: 0.99) == DAY


@pytest.mark.parametrize("asked", [None, 0, -5, math.nan, -math.inf, True, "37"])
def test_a_pause_of_no_length_is_ten_seconds(asked: object) -> None:
    """B51"""
    assert pause(asked, no_jitter) == 10  # type: ignore[arg-type]


@given(st.floats(min_value=0.001, max_value=DAY), st.floats(min_value=0, max_value=1, exclude_max=True))
def test_a_pause_is_never_shorter_than_asked_for_nor_over_a_day(asked: float, rand: float) -> None:
    """B53"""
    assert asked <= pause(asked, lambda: rand) <= min(math.ceil(asked) * 1.2, DAY)


def test_pauses_of_many_jobs_are_spread() -> None:
    """B53"""
    assert len({pause(3600) for _ in range(100)}) > 90


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("120", 120), ("0.129", 0.129), (" 7 ", 7), ("007", 7), ("5.", 5), ("99999999999", DAY), ("9" * 400, DAY)],
)
def test_retry_after_in_seconds(header: str, seconds: float) -> None:
    """B51"""
    assert parse_retry_after(header, NOW) == seconds


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("Fri, 30 Apr 2027 06:01:40 GMT", 100),
        ("Friday, 30-Apr-27 06:01:40 GMT", 100),
        ("Fri Apr 30 06:01:40 2027", 100),
        ("Fri, 30 Apr 2027 08:01:40 +0200", 100),
        ("Fri, 30 Apr 2038 06:00:00 GMT", DAY),
        ("Fri, 30 Apr 2027 06:00:00 GMT", None),
        ("Fri, 30 Apr 2021 06:00:00 GMT", None),
    ],
)
def test_retry_after_as_a_date_in_each_of_its_three_forms(header: str, seconds: float | None) -> None:
    """B51"""
    assert parse_retry_after(header, NOW) == seconds


@pytest.mark.parametrize(
    "header",
    [None, "", " ", "0", "0.0", "-5", "+5", "nan", "inf", "1e10000", "1_0", "\uff11\uff12", "\u00b2", ".", "1.2.3", "soon",
     "12 s", "0x10"],
)  # fmt: skip
def test_retry_after_that_says_no_time(header: str | None) -> None:
    """B51"""
    assert parse_retry_after(header, NOW) is None


@given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d{1,6} [A-Z][a-z]{2} \d{1,9} \d+:\d+:\d+ ([A-Z]{1,4}|[+-]\d{1,9})"))
def test_no_retry_after_makes_it_raise(header: str) -> None:
    """B51"""
    seconds = parse_retry_after(header, NOW)
    assert seconds is None or 0 < seconds <= DAY


@given(st.integers(min_value=1, max_value=80_000))
def test_a_date_and_its_distance_mean_the_same(distance: int) -> None:
    when = datetime.fromtimestamp(NOW + distance, UTC)
    assert parse_retry_after(format_datetime(when, usegmt=True), NOW) == distance
