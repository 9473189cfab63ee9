"""Tidemill for BENCH_SECONDS, beside whatever BENCH_BESIDE says stands in its tables: `ready`, `finished`, `tenants` or
`churned` with a number after a colon, or nothing."""

from __future__ import annotations

from collections.abc import Callable

from bench.beside import beside, seconds
from bench.contenders.tidemill import INVOCATION, function
from bench.lines import fill, finish, open_snapshot, schema, spread

UNUSED = 2.0  # of an invocation's time: the margin for settling, and the timeout of the handler
EACH = 10  # jobs of a tenant


def ready(url: str, count: int) -> Callable[[], int]:
    schema(url)
    invoke = function(url)
    what, number = beside()
    match what:
        case "ready":
            fill(url, number)
        case "finished":
            finish(url, number)
        case "tenants":
            spread(url, number, max(EACH, count // number))
        case "churned":
            open_snapshot(url)
            fill(url, number)
            invoke(INVOCATION)
    if what != "tenants":
        fill(url, count)
    return lambda: invoke(seconds() + UNUSED)
