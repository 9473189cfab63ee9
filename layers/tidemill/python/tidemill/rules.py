"""Where the slots of a rule lie, as instants in UTC: a pure function of the rule, whatever day it is asked on.

Two aware datetimes of one zone compare by the clock on the wall, which in autumn shows an hour twice; hence UTC throughout.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from importlib.resources import files
from itertools import product
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
MOST_MINUTES = 100 * 366 * 24 * 60  # a hundred years

_NUMBER = r"\d{1,2}"
_MONTH = rf"(?:{_NUMBER}|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)"
_WEEKDAY = rf"(?:{_NUMBER}|SUN|MON|TUE|WED|THU|FRI|SAT)"
_FIELDS = (  # name, a value, the largest value
    ("minute", _NUMBER, 59),
    ("hour", _NUMBER, 23),
    ("day-of-month", _NUMBER, 31),
    ("month", _MONTH, 12),
    ("day-of-week", _WEEKDAY, 7),
)


class Every:
    """Every so many minutes, counted from the Unix epoch, so that all gaps are even. Raises ValueError."""

    zone = UTC

    def __init__(self, minutes: int) -> None:
        if isinstance(minutes, bool) or not isinstance(minutes, int) or not 1 <= minutes <= MOST_MINUTES:
            raise ValueError(f"minutes must be a whole number from 1 to {MOST_MINUTES}, not {minutes!r}")
        self._step = timedelta(minutes=minutes)

    def last(self, now: datetime) -> datetime:
        """The latest slot that is not after `now`."""
        return EPOCH + (now - EPOCH) // self._step * self._step

    def next(self, after: datetime) -> datetime:
        """The first slot after `after`."""
        return self.last(after) + self._step


class Cron:
    """Five cron fields (minute, hour, day of month, month, day of week) on the wall clock of a zone. Raises ValueError.

    Numbers, names, lists, ranges and steps over `*` or a range; Sunday is 0 and 7. Of day of month and day of week both
    must match if one of them starts with `*`, else one is enough, as in Debian's cron.

    Fixed hours and minutes: a time that a day lacks runs at the first instant after the gap, one that it has twice runs at
    the first. Where hour or minute has a `*`, slots follow the clock as it runs: through both of a doubled hour, and
    none in a missing one. CronSim reads the fields and matches days; its own iteration is not used, since what it gives
    around a change of the clock depends on where it starts.
    """

    def __init__(self, expression: str, zone: ZoneInfo) -> None:
        self.zone = zone
        self._fields = _parse(expression)
        self._fixed = not any("*" in part for part in expression.split()[:2])
        times = product(self._fields.hours, self._fields.minutes)
        self._times = [timedelta(hours=hour, minutes=minute) for hour, minute in times]
        self._on = lru_cache(maxsize=8)(self._slots_on)

    def last(self, now: datetime) -> datetime:
        """The latest slot that is not after `now`."""
        now = now.astimezone(UTC)
        day = now.date()
        while True:  # some day has a slot: dates that no year has were refused
            slots = self._on(day)
            if place := bisect_right(slots, now):
                return slots[place - 1]
            day -= DAY

    def next(self, after: datetime) -> datetime:
        """The first slot after `after`."""
        after = after.astimezone(UTC)
        day = after.date()
        while True:
            slots = self._on(day)
            if (place := bisect_right(slots, after)) < len(slots):
                return slots[place]
            day += DAY

    def _slots_on(self, day: date) -> list[datetime]:
        """The slots of a day of UTC: it lies within three dates of the zone, whose clock is less than a day off."""
        begin = datetime.combine(day, time(), UTC)
        slots = sorted({slot for days in (-1, 0, 1) for slot in self._slots_of(day + days * DAY)})
        return slots[bisect_left(slots, begin) : bisect_left(slots, begin + DAY)]

    def _slots_of(self, day: date) -> Iterable[datetime]:
        """The slots of a date of the zone, in no order."""
        if day.month not in self._fields.months or not self._fields.match_day(day):
            return ()
        midnight = datetime.combine(day, time())
        offset = midnight.replace(tzinfo=self.zone, fold=0).utcoffset()
        if offset is not None and offset == (midnight + DAY).replace(tzinfo=self.zone, fold=1).utcoffset():
            # Nearly every day: the clock is not changed on it, and need not be asked for each time.
            begin = midnight.replace(tzinfo=UTC) - offset
            return [begin + passed for passed in self._times]
        walls = [midnight + passed for passed in self._times]
        if self._fixed:
            return map(self._first_instant, walls)
        return (slot for wall in walls for fold in (0, 1) if (slot := self._instant(wall, fold)) is not None)

    def _first_instant(self, wall: datetime) -> datetime:
        while (instant := self._instant(wall, 0)) is None:
            wall += MINUTE
        return instant

    def _instant(self, wall: datetime, fold: int) -> datetime | None:
        """When the zone's clock shows `wall`, for the first (fold 0) or second time; None when it never does."""
        instant = wall.replace(tzinfo=self.zone, fold=fold).astimezone(UTC)
        return instant if instant.astimezone(self.zone).replace(tzinfo=None, fold=0) == wall else None


def daily(at: str, zone: ZoneInfo) -> Cron:
    """Once a day at a time of the form "09:00". Raises ValueError."""
    if not isinstance(at, str) or not (match := re.fullmatch(r"([01]\d|2[0-3]):([0-5]\d)", at, re.ASCII)):
        raise ValueError(f'the time must be of the form "09:00", not {_shown(at)}')
    return Cron(f"{int(match[2])} {int(match[1])} * * *", zone)


def zone(name: str) -> ZoneInfo:
    """A time zone by its name in the tz database, of which the package tzdata has the list: what this machine happens to
    call a zone ("localtime") does not count. Raises ValueError."""
    if not isinstance(name, str) or name not in _zones():
        raise ValueError(f'tz must be the name of a time zone, such as "Europe/Rome", not {_shown(name)}')
    return ZoneInfo(name)


@cache
def _zones() -> frozenset[str]:
    return frozenset(files("tzdata").joinpath("zones").read_text("utf-8").split())


def _parse(expression: str) -> CronSim:
    parts = expression.split() if isinstance(expression, str) else []
    if len(parts) != len(_FIELDS):
        raise ValueError(f"cron takes five fields: minute hour day-of-month month day-of-week; not {_shown(expression)}")
    for part, (name, value, largest) in zip(parts, _FIELDS, strict=True):
        _check_field(part, name, value, largest)
    try:
        return CronSim(expression, EPOCH)
    except CronSimError as error:
        raise ValueError(f"{_shown(expression)} cannot be met ({error}); a range goes from low to high") from None


def _check_field(part: str, name: str, value: str, largest: int) -> None:
    term = rf"(?:\*(?:/{_NUMBER})?|{value}-{value}(?:/{_NUMBER})?|{value})"
    if not re.fullmatch(rf"{term}(?:,{term})*", part, re.ASCII | re.IGNORECASE):
        raise ValueError(f"{name} takes numbers, lists, ranges and steps, not {_shown(part)}")
    for step in re.findall(r"/(\d+)", part):
        if int(step) > largest:
            raise ValueError(f"{name} has a step of {step}, over its largest value {largest}: it would start anew each time")


def _shown(value: object) -> str:
    return repr(value)[:60]
