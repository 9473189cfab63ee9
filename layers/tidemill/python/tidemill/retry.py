"""How long to wait, and what an error means."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import UTC
from email.utils import parsedate_to_datetime

FIRST_DELAY = 10.0
LONGEST_DELAY = 3600.0
JITTER = 0.2
LONGEST_RETRY_AFTER = 86400.0
DEFAULT_RETRY_AFTER = 10.0

Random = Callable[[], float]


def backoff(attempt: int, rand: Random = random.random) -> float:
    """Seconds to wait after failed attempt number `attempt` (from 1): 10 doubled up to 3600, of which up to a fifth is
    taken off at random, so that the jitter stays inside the cap."""
    # The exponent is bounded before it is raised: 2 ** 2000 is no float.
    doublings = min(max(attempt, 1) - 1, 20)
    return min(FIRST_DELAY * 2.0**doublings, LONGEST_DELAY) * (1 - JITTER * rand())


def pause(retry_after: float | None, rand: Random = random.random) -> float:
    """Seconds to wait when the other side asked for `retry_after`: never less than it asked, at most a day, up to a fifth
    more so that all do not come back at once. What is not a positive number counts as the default of 10 s."""
    wanted = DEFAULT_RETRY_AFTER
    if isinstance(retry_after, (int, float)) and not isinstance(retry_after, bool) and retry_after > 0:
        wanted = float(min(retry_after, LONGEST_RETRY_AFTER))
    return min(math.ceil(wanted) * (1 + JITTER * rand()), LONGEST_RETRY_AFTER)


def parse_retry_after(text: str | None, now: float) -> float | None:
    """Seconds from a Retry-After header: whole seconds, a fraction, or an HTTP date (RFC 9110, 10.2.3); else None.

    `now` is in epoch seconds. Only ASCII digits count: int() would also take '1_0' and full-width digits.
    """
    if not text:
        return None
    text = text.strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        seconds = float(text)
        return min(seconds, LONGEST_RETRY_AFTER) if seconds > 0 else None
    try:
        when = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    seconds = when.timestamp() - now
    return min(seconds, LONGEST_RETRY_AFTER) if seconds > 0 else None
