"""Deciding which slots are due; time is given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tidemill import rules
from tidemill.schedule import MOST_COUNTED, Due, Schedule

MINUTELY = Schedule("beat", "beat", "every(minutes=1)", rules.Every(1))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def at_nine(catch_up: int = 1) -> Schedule:
    return Schedule("digest", "digest", "daily at nine", rules.daily("09:00", rules.zone("Europe/Istanbul")), catch_up)


def test_the_key_has_the_slot_with_the_offset_of_its_zone() -> None:
    assert at_nine().key(utc("2027-04-30T06:00")) == "digest:2027-04-30T09:00:00+03:00"
    assert MINUTELY.key(utc("2027-04-30T06:00")) == "beat:2027-04-30T06:00:00+00:00"


def test_two_equal_hours_have_two_keys() -> None:
    hourly = Schedule("h", "h", "hourly", rules.Cron("0 * * * *", rules.zone("America/New_York")))
    slots = [utc("2026-11-01T05:00"), utc("2026-11-01T06:00")]
    assert [hourly.key(slot) for slot in slots] == ["h:2026-11-01T01:00:00-04:00", "h:2026-11-01T01:00:00-05:00"]
    assert hourly.next_slot(slots[0]) == slots[1] and hourly.previous_slot(slots[1]) == slots[0]


def test_a_slot_is_due_from_its_instant_on() -> None:
    since = utc("2027-04-29T06:00")
    assert at_nine().due(since, utc("2027-04-30T05:59:59.999999")) == Due([], 0)
    assert at_nine().due(since, utc("2027-04-30T06:00")) == Due([utc("2027-04-30T06:00")], 0)


def test_an_enqueued_slot_is_not_due_again() -> None:
    assert at_nine().due(utc("2027-04-30T06:00"), utc("2027-04-30T06:00")) == Due([], 0)


def test_a_schedule_that_is_first_seen_starts_with_its_next_slot() -> None:
    """B64: daily at nine (six in UTC), first deployed at 15:00."""
    first_seen = utc("2027-04-30T12:00")
    assert at_nine().due(first_seen, first_seen) == Due([], 0)
    assert at_nine().due(first_seen, utc("2027-05-01T06:00:10")).slots == [utc("2027-05-01T06:00")]


def test_who_is_late_still_runs_the_last_slot() -> None:
    """B64: off from 08:59:50 to 09:00:30, or until the evening."""
    since = utc("2027-04-29T06:00")
    assert at_nine().due(since, utc("2027-04-30T06:00:30")) == Due([utc("2027-04-30T06:00")], 0)
    assert at_nine().due(since, utc("2027-04-30T18:00")) == Due([utc("2027-04-30T06:00")], 0)


def test_of_the_slots_of_six_hours_the_last_runs_and_the_others_are_missed() -> None:
    """B65"""
    assert MINUTELY.due(utc("2027-04-30T06:00"), utc("2027-04-30T12:00:05")) == Due([utc("2027-04-30T12:00")], 359)


def test_catch_up_runs_so_many_of_the_latest_the_oldest_first() -> None:
    """B65"""
    due = at_nine(catch_up=3).due(utc("2027-04-25T06:00"), utc("2027-04-30T07:00"))
    assert due == Due([utc("2027-04-28T06:00"), utc("2027-04-29T06:00"), utc("2027-04-30T06:00")], 2)


def test_catch_up_runs_no_more_than_there_are() -> None:
    due = at_nine(catch_up=9).due(utc("2027-04-28T06:00"), utc("2027-04-30T07:00"))
    assert due == Due([utc("2027-04-29T06:00"), utc("2027-04-30T06:00")], 0)


@pytest.mark.parametrize("times", [rules.Every(1), rules.Cron("* * * * *", rules.zone("Europe/Rome"))])
def test_counting_missed_slots_ends(times: rules.Every | rules.Cron) -> None:
    """B64, B65: every minute, off for a year, and since 1970."""
    minutely = Schedule("beat", "beat", "every minute", times)
    for since in (utc("2026-04-30T06:00"), rules.EPOCH):
        assert minutely.due(since, utc("2027-04-30T06:00")) == Due([utc("2027-04-30T06:00")], MOST_COUNTED)


def test_a_slot_is_overdue_after_more_than_a_period() -> None:
    done = utc("2027-04-29T06:00")
    assert not at_nine().overdue(done, utc("2027-05-01T06:00"))
    assert at_nine().overdue(done, utc("2027-05-01T06:00:00.000001"))


def test_a_period_over_a_change_of_the_clock_is_not_a_day() -> None:
    """B58: from the 13th to the 14th of March 2027 it is 23 hours."""
    nightly = Schedule("n", "n", "nightly", rules.daily("04:00", rules.zone("America/New_York")))
    done, its_end = utc("2027-03-12T09:00"), utc("2027-03-14T08:00")
    assert not nightly.overdue(done, its_end) and nightly.overdue(done, its_end + timedelta(seconds=1))


# A changed rule


@pytest.mark.parametrize(
    ("new", "slots"),
    [
        (Schedule("x", "x", "", rules.Every(1)), ["2027-04-30T12:00"]),
        (Schedule("x", "x", "", rules.daily("08:00", rules.zone("UTC"))), []),
        (Schedule("x", "x", "", rules.daily("10:00", rules.zone("UTC"))), []),
        (Schedule("x", "x", "", rules.daily("09:00", rules.zone("Asia/Tokyo"))), []),
        (Schedule("x", "x", "", rules.daily("09:00", rules.zone("Atlantic/Azores"))), []),
        (Schedule("x", "x", "", rules.Cron("0 */2 * * *", rules.zone("UTC"))), ["2027-04-30T12:00"]),
    ],
)
def test_a_changed_rule_runs_what_is_new_and_nothing_twice(new: Schedule, slots: list[str]) -> None:
    """B62: at nine in UTC until now, which is noon, and today's is done."""
    now = utc("2027-04-30T12:00:30")
    assert new.due(new.restart(utc("2027-04-30T09:00"), now), now) == Due([utc(slot) for slot in slots], 0)


def test_a_rule_that_changes_during_a_deploy_loses_no_slot() -> None:
    """B62, B64: from 09:00 daily to 09:00 on working days, deployed from 08:59 to 09:01; yesterday's is done."""
    now, new = utc("2027-04-30T09:01"), Schedule("x", "x", "", rules.Cron("0 9 * * MON-FRI", rules.zone("UTC")))
    assert new.due(new.restart(utc("2027-04-29T09:00"), now), now) == Due([utc("2027-04-30T09:00")], 0)


def test_a_changed_rule_that_did_not_run_goes_on_with_its_next_slot() -> None:
    now, new = utc("2027-04-30T12:00"), Schedule("x", "x", "", rules.daily("10:00", rules.zone("UTC")))
    since = new.restart(utc("2027-04-30T09:00"), now)
    assert new.due(since, utc("2027-05-01T10:00:01")) == Due([utc("2027-05-01T10:00")], 0)
