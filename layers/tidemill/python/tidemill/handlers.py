"""The registry: which function runs a kind, under which limit, on which schedule. Decorated functions stay plain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tidemill.errors import ConfigurationError
from tidemill.registry import Registry

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)

LONGEST_TIMEOUT = 900  # seconds a Lambda function may run at most


@dataclass(frozen=True)
class Handler:
    """How jobs of a kind are run: `timeout` in seconds; `limit_name` '' means that they are under no limit; `via` "sqs"
    means that a drain sends them out to a queue, None that it runs them."""

    kind: str
    function: Function
    max_attempts: int = 8
    timeout: float = 60
    limit_name: str = ""
    limit_size: int = 0
    via: str | None = None


declared: Registry[Handler] = Registry()


def handler(
    kind: str,
    *,
    max_attempts: int = 8,
    timeout: float = 60,
    limit: tuple[str, int] | None = None,
    via: str | None = None,
) -> Callable[[F], F]:
    """Declare the function that runs jobs of `kind`: `(job, ctx) -> None | JSON value | Snooze | Discard`.

    `timeout` is in seconds; `limit=(name, n)`: at most n jobs of that name run at once, over all workers; `via="sqs"`: they
    are run by the consume function, from a queue.
    Raises ConfigurationError, which names the kind and the parameter.
    """
    _check(kind, max_attempts, timeout, limit, via)
    name, size = limit or ("", 0)

    def declare(function: F) -> F:
        module = function.__module__
        one = Handler(kind, function, max_attempts, timeout, name, size, via)
        declared.add((module, function.__qualname__, kind), module, one)
        return function

    return declare


def by_kind(handlers: Iterable[Handler]) -> dict[str, Handler]:
    """The handlers by kind. Raises ConfigurationError that names every kind with two, and every limit with two sizes."""
    found: dict[str, Handler] = {}
    sizes: dict[str, int] = {}
    faults: list[str] = []
    for one in handlers:
        if (other := found.setdefault(one.kind, one)) is not one:
            faults.append(f"the kind {one.kind!r} has two handlers: {_place(other)} and {_place(one)}")
        if one.limit_name and sizes.setdefault(one.limit_name, one.limit_size) != one.limit_size:
            faults.append(f"the limit {one.limit_name!r} has two sizes: {sizes[one.limit_name]} and {one.limit_size}")
    if faults:
        raise ConfigurationError("; ".join(faults))
    return found


def limits(handlers: Mapping[str, Handler]) -> dict[str, int]:
    """The size of each limit that these handlers name."""
    return {one.limit_name: one.limit_size for one in handlers.values() if one.limit_name}


def _check(kind: str, max_attempts: object, timeout: object, limit: object, via: object) -> None:
    where = f"handler {kind!r}: "
    if not isinstance(kind, str) or not kind or len(kind) > 200:
        raise ConfigurationError(f"{where}kind must be a text of 1 to 200 characters")
    if isinstance(max_attempts, bool) or not isinstance(max_attempts, int) or not 1 <= max_attempts <= 1000:
        raise ConfigurationError(f"{where}max_attempts must be a whole number from 1 to 1000, not {max_attempts!r}")
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= LONGEST_TIMEOUT:
        raise ConfigurationError(f"{where}timeout must be over 0 and at most {LONGEST_TIMEOUT} seconds, not {timeout!r}")
    if via not in (None, "sqs"):
        raise ConfigurationError(f"{where}via must be None or 'sqs', not {via!r}")
    if limit is None:
        return
    if not (isinstance(limit, tuple) and len(limit) == 2 and isinstance(limit[0], str) and limit[0]):
        raise ConfigurationError(f"{where}limit must be (name, size), not {limit!r}")
    size = limit[1]
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 10_000:
        raise ConfigurationError(
            f"{where}the size of limit {limit[0]!r} must be a whole number from 1 to 10000, not {size!r}"
        )


def _place(one: Handler) -> str:
    return f"{one.function.__module__}.{one.function.__qualname__}"
