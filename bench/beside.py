"""What a contender is told through its environment: what stands in its tables besides the line that it drains, and when to
stop."""

from __future__ import annotations

import os

HOUR = 3600.0


def beside() -> tuple[str, int]:
    """BENCH_BESIDE: `finished:1000000`, `churned:50000` (worked off under a snapshot that stays open) and the like, or
    `nothing`, which is the default."""
    what, _, number = os.environ.get("BENCH_BESIDE", "nothing").partition(":")
    return what, int(number or 0)


def seconds() -> float:
    """BENCH_SECONDS: how long to drain where the line does not end before; an hour where nothing is said."""
    return float(os.environ.get("BENCH_SECONDS", HOUR))
