"""Properties of random rules, most of them asked near a change of the clock."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from tidemill.rules import Cron, Every, zone

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
ZONES = [
    "UTC", "Europe/Rome", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Havana", "America/Nuuk",
    "America/St_Johns", "Africa/Casablanca", "Asia/Kathmandu", "Pacific/Apia", "Pacific/Chatham", "America/Sao_Paulo",
]  # fmt: skip


@cache
def changes(name: str) -> list[datetime]:
    """Hours in which the clock of a zone is changed, from 2005 to 2029."""
    found = []
    for day in (datetime(2005, 1, 1, tzinfo=UTC) + number * DAY for number in range(25 * 365)):
        if offset(day, name) != offset(day + DAY, name):
            hours = [day + number * HOUR for number in range(25)]
            found += [before for before, after in pairwise(hours) if offset(before, name) != offset(after, name)]
    return found or [datetime(2026, 1, 1, tzinfo=UTC)]


def offset(instant: datetime, name: str) -> timedelta | None:
    return instant.astimezone(zone(name)).utcoffset()


@st.composite
def moments(draw: st.DrawFn, name: str) -> datetime:
    """Any time, or one near a change of the clock."""
    near = draw(st.sampled_from(changes(name))) + draw(st.timedeltas(min_value=-2 * DAY, max_value=2 * DAY))
    anywhere = draw(st.datetimes(datetime(1971, 1, 1), datetime(2060, 1, 1))).replace(tzinfo=UTC)
    return draw(st.sampled_from([near, anywhere]))


@st.composite
def fields(draw: st.DrawFn, low: int, high: int) -> str:
    one, other, step = (draw(st.integers(low, high)) for _ in range(3))
    low_to_high = f"{min(one, other)}-{max(one, other)}"
    return draw(st.sampled_from(["*", f"*/{max(step, 1)}", str(one), f"{one},{other}", low_to_high]))


@st.composite
def crons(draw: st.DrawFn) -> str:
    days = draw(st.sampled_from(["* * *", "* * SUN", "1 * *", "*/3 * *", "* 3,10 0", "28-31 * *", "15 * MON-FRI"]))
    return f"{draw(fields(0, 59))} {draw(fields(0, 23))} {days}"


@st.composite
def cases(draw: st.DrawFn) -> tuple[Every | Cron, datetime]:
    name = draw(st.sampled_from(ZONES))
    now = draw(moments(name))
    if draw(st.integers(0, 9)) == 0:
        return Every(draw(st.integers(1, 5000))), now
    return Cron(draw(crons()), zone(name)), now


@settings(max_examples=1000, deadline=None)
@given(cases())
def test_slots_lie_in_order_around_now(case: tuple[Every | Cron, datetime]) -> None:
    rule, now = case
    last, following = rule.last(now), rule.next(now)
    assert last <= now < following
    assert rule.last(following - timedelta(microseconds=1)) == last
    assert rule.next(last) == following
    assert rule.last(following) == following < rule.next(following)
    texts = [slot.astimezone(rule.zone).isoformat() for slot in (last, following)]
    assert [datetime.fromisoformat(text) for text in texts] == [last, following]


def wanted(rule_fields: str, name: str, begin: datetime, end: datetime) -> list[datetime]:
    """The slots between two times, by looking at the zone's clock each minute; only for rules of all days."""
    minutes, hours = (numbers(part, size) for part, size in zip(rule_fields.split()[:2], (60, 24), strict=True))
    clock = [begin - 2 * DAY + MINUTE * number for number in range(int((end - begin) / MINUTE) + 4 * 1440)]
    walls = [instant.astimezone(zone(name)).replace(tzinfo=None) for instant in clock]
    if "*" in "".join(rule_fields.split()[:2]):
        found = {at for at, wall in zip(clock, walls, strict=True) if wall.minute in minutes and wall.hour in hours}
    else:
        # The first time that the clock shows what was wanted, or more: `highest` is the latest that it has shown so far.
        highest = [walls[0]]
        for wall in walls[1:]:
            highest.append(max(highest[-1], wall))
        midnight = walls[0].replace(hour=0, minute=0)
        days = [midnight + number * DAY for number in range((walls[-1] - midnight).days + 2)]
        named = [day.replace(hour=hour, minute=minute) for day in days for hour in hours for minute in minutes]
        places = [bisect_right(highest, wall - timedelta(microseconds=1)) for wall in named]
        found = {clock[place] for place in places if 0 < place < len(clock)}
    return sorted(at for at in found if begin < at <= end)


def numbers(part: str, size: int) -> set[int]:
    if part.startswith("*"):
        return set(range(0, size, int(part[2:] or 1)))
    if "-" in part:
        low, high = part.split("-")
        return set(range(int(low), int(high) + 1))
    return {int(number) for number in part.split(",")}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ZONES), fields(0, 59), fields(0, 23), st.data())
def test_slots_are_what_the_clock_on_the_wall_shows(name: str, minute: str, hour: str, data: st.DataObject) -> None:
    change = data.draw(st.sampled_from(changes(name)))
    begin, end = change - 26 * HOUR, change + 26 * HOUR
    rule = Cron(f"{minute} {hour} * * *", zone(name))
    found, slot = [], begin
    while (slot := rule.next(slot)) <= end:
        found.append(slot)
    assert found == wanted(f"{minute} {hour}", name, begin, end)
