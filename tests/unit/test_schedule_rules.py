"""Where the slots of a rule lie: exact instants around changes of the clock, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from tidemill import rules
from tidemill.rules import Cron, Every, daily, zone

MINUTE = timedelta(minutes=1)
NEW_YORK = zone("America/New_York")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def following(rule: Every | Cron, after: datetime, count: int) -> list[str]:
    """The next slots, on the clocks of the rule's zone."""
    found = []
    for _ in range(count):
        after = rule.next(after)
        found.append(after.astimezone(rule.zone).isoformat(timespec="minutes"))
    return found


def test_a_time_that_a_day_has_twice_runs_at_the_first() -> None:
    """B58"""
    assert following(daily("01:30", NEW_YORK), utc("2026-10-31T12:00"), 2) == [
        "2026-11-01T01:30-04:00",
        "2026-11-02T01:30-05:00",
    ]


def test_a_time_that_a_day_lacks_runs_at_the_first_instant_after_the_gap() -> None:
    """B58"""
    assert following(daily("02:30", NEW_YORK), utc("2027-03-13T12:00"), 2) == [
        "2027-03-14T03:00-04:00",
        "2027-03-15T02:30-04:00",
    ]


def test_asked_in_the_second_of_two_equal_hours_a_daily_slot_is_the_next_day() -> None:
    """B58: what cronsim's own iteration gets wrong."""
    in_the_second_hour = utc("2026-11-01T06:10")
    assert daily("01:30", NEW_YORK).next(in_the_second_hour) == utc("2026-11-02T06:30")
    assert daily("01:30", NEW_YORK).last(in_the_second_hour) == utc("2026-11-01T05:30")


def test_several_times_in_a_gap_are_one_slot() -> None:
    assert following(Cron("0,15,30 2 * * *", NEW_YORK), utc("2027-03-14T05:00"), 2) == [
        "2027-03-14T03:00-04:00",
        "2027-03-15T02:00-04:00",
    ]


def test_a_time_in_a_gap_and_one_right_after_it_are_one_slot() -> None:
    assert following(Cron("0 2,3 * * *", NEW_YORK), utc("2027-03-14T05:00"), 2) == [
        "2027-03-14T03:00-04:00",
        "2027-03-15T02:00-04:00",
    ]


def test_a_gap_of_half_an_hour_ends_after_half_an_hour() -> None:
    lord_howe = zone("Australia/Lord_Howe")
    assert following(daily("02:10", lord_howe), utc("2026-10-03T12:00"), 1) == ["2026-10-04T02:30+11:00"]


def test_a_gap_at_midnight_is_on_the_day_that_it_begins() -> None:
    assert following(daily("00:00", zone("Africa/Cairo")), utc("2026-04-23T00:00"), 2) == [
        "2026-04-24T01:00+03:00",
        "2026-04-25T00:00+03:00",
    ]


def test_a_clock_put_back_over_midnight_doubles_the_end_of_the_day_before() -> None:
    """Newfoundland in 2010: from 00:01 back to 23:01."""
    assert following(Cron("*/30 23 * * *", zone("America/St_Johns")), utc("2010-11-07T00:00"), 4) == [
        "2010-11-06T23:00-02:30",
        "2010-11-06T23:30-02:30",
        "2010-11-06T23:30-03:30",
        "2010-11-07T23:00-03:30",
    ]


@pytest.mark.parametrize("expression", ["0 * * * *", "0 */1 * * *"])
def test_every_hour_runs_through_both_of_two_equal_hours(expression: str) -> None:
    assert following(Cron(expression, NEW_YORK), utc("2026-11-01T04:30"), 3) == [
        "2026-11-01T01:00-04:00",
        "2026-11-01T01:00-05:00",
        "2026-11-01T02:00-05:00",
    ]


def test_every_half_hour_within_a_fixed_hour_runs_through_both() -> None:
    assert following(Cron("*/30 1 * * *", NEW_YORK), utc("2026-11-01T04:30"), 4) == [
        "2026-11-01T01:00-04:00",
        "2026-11-01T01:30-04:00",
        "2026-11-01T01:00-05:00",
        "2026-11-01T01:30-05:00",
    ]


def test_every_hour_has_none_in_a_missing_one() -> None:
    assert following(Cron("30 * * * *", NEW_YORK), utc("2027-03-14T06:00"), 2) == [
        "2027-03-14T01:30-05:00",
        "2027-03-14T03:30-04:00",
    ]


@pytest.mark.parametrize("minutes", [1, 7, 45, 90, 1440, 1441])
def test_every_has_even_gaps_over_two_midnights(minutes: int) -> None:
    """B61"""
    rule, slots = Every(minutes), [utc("2026-05-01T22:00")]
    while slots[-1] < utc("2026-05-04T02:00"):
        slots.append(rule.next(slots[-1]))
    assert {after - before for before, after in pairwise(slots[1:])} <= {minutes * MINUTE}
    assert all((slot - rules.EPOCH) % (minutes * MINUTE) == timedelta(0) for slot in slots[1:])


@pytest.mark.parametrize("minutes", [0, -5, 0.5, 15.0, "15", True, None, 10**12])
def test_every_refuses_what_is_no_positive_whole_number(minutes: object) -> None:
    """B61"""
    with pytest.raises(ValueError, match="minutes must be a whole number"):
        Every(minutes)  # type: ignore[arg-type]


@pytest.mark.parametrize("weekday", ["0", "7", "sun", "SUN", "0,7"])
def test_sunday_is_0_and_7_and_its_name(weekday: str) -> None:
    """B68"""
    assert following(Cron(f"0 9 * * {weekday}", zone("UTC")), utc("2026-11-02T00:00"), 2) == [
        "2026-11-08T09:00+00:00",
        "2026-11-15T09:00+00:00",
    ]


@pytest.mark.parametrize("weekdays", ["MON-FRI", "mon-fri", "1-5", "1,2,3,4,5"])
def test_working_days_are_five(weekdays: str) -> None:
    """B68"""
    days = [text[8:10] for text in following(Cron(f"0 9 * * {weekdays}", zone("UTC")), utc("2026-11-05T10:00"), 6)]
    assert days == ["06", "09", "10", "11", "12", "13"]


def test_the_29th_of_february_waits_for_a_leap_year() -> None:
    """B68"""
    rule = Cron("0 0 29 2 *", zone("UTC"))
    assert rule.next(utc("2027-01-01T00:00")) == utc("2028-02-29T00:00")
    assert rule.last(utc("2027-01-01T00:00")) == utc("2024-02-29T00:00")
    assert rule.next(utc("2096-03-01T00:00")) == utc("2104-02-29T00:00")


def test_the_rarest_date_is_found() -> None:
    """A 29 February that must be a Sunday, over the year 2100, which is no leap year."""
    assert Cron("0 0 29 2 */7", zone("UTC")).next(utc("2088-03-01T00:00")) == utc("2128-02-29T00:00")


def test_day_of_month_and_day_of_week_are_alternatives_unless_one_has_a_star() -> None:
    """B68: the first of the month or a Monday; every second day if it is a Monday."""
    either = following(Cron("0 0 1 * MON", zone("UTC")), utc("2026-11-24T00:00"), 3)
    assert [text[5:10] for text in either] == ["11-30", "12-01", "12-07"]
    both = following(Cron("0 0 */2 * MON", zone("UTC")), utc("2026-11-03T00:00"), 3)
    assert [text[5:10] for text in both] == ["11-09", "11-23", "12-07"]


@pytest.mark.parametrize(
    "expression",
    [
        "0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 * * 7L", "0 0 * * 0#2", "0 0 L * *", "0 0 LW * *",
        "0 0 15W * *", "0 0 * * FRI-MON", "0 0 * * 8", "60 * * * *", "0 24 * * *", "0 0 0 * *", "0 0 * 13 *", "0 0 * 0 *",
        "*/0 * * * *", "*/90 * * * *", "5/15 * * * *", "5- * * * *", ", * * * *", "1,,2 * * * *", "-5 * * * *", "? * * * *",
        "1.5 * * * *", "٣ * * * *", "0 0 * JANUARY *", "0 0 * * \u017fun", "0 0 * *", "0 0 0 * * *", "@daily", "",
        "9" * 5000 + " * * * *", None, 5,
    ],
)  # fmt: skip
def test_cron_refuses_what_it_does_not_know_or_what_never_comes(expression: object) -> None:
    """B68"""
    with pytest.raises(ValueError, match=r"takes|cannot be met|step"):
        Cron(expression, zone("UTC"))  # type: ignore[arg-type]


@pytest.mark.parametrize("at", ["9:00", "24:00", "09:60", "0900", "09:00:00", " 09:00", "09:00\n", "٠٩:00", "", None, 9])
def test_daily_refuses_what_is_no_time_of_day(at: object) -> None:
    with pytest.raises(ValueError, match='of the form "09:00"'):
        daily(at, zone("UTC"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["", "/etc/localtime", "localtime", "America", "America/New_york", "../UTC", "right/UTC", "UTC\0", None, 3]
)
def test_zone_refuses_what_is_no_name_of_a_zone(name: object) -> None:
    """B67"""
    with pytest.raises(ValueError, match="tz must be the name of a time zone"):
        zone(name)  # type: ignore[arg-type]


@pytest.mark.parametrize("process_zone", [":UTC", "Asia/Tokyo", ":/etc/localtime"])
def test_the_zone_of_the_process_and_its_zone_files_make_no_difference(process_zone: str) -> None:
    """B67: Lambda sets TZ=:UTC, and has no zone files where Python looks."""
    program = (
        "from datetime import UTC, datetime; from tidemill.rules import daily, zone;"
        "print(daily('09:00', zone('Europe/Rome')).next(datetime(2026, 7, 1, tzinfo=UTC)))"
    )
    environ = {"TZ": process_zone, "PYTHONTZPATH": "", "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    assert said.stdout == "2026-07-01 07:00:00+00:00\n"


def test_the_slots_of_every_minute_are_found_backwards_too() -> None:
    rule, slots = Cron("* * * * *", NEW_YORK), [utc("2026-11-01T07:00")]
    for _ in range(1000):
        slots.append(rule.last(slots[-1] - timedelta(microseconds=1)))
    assert {before - after for before, after in pairwise(slots)} == {MINUTE}
