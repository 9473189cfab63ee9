"""From single runs to curves with a name at their end."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Curve = list[tuple[float, float]]


def medians(runs: Iterable[Mapping[str, Any]], axis: str, per: str) -> dict[str, Curve]:
    """By the name of a contender: where on the axis, in order, and the median of its jobs there in a second of `cpu` or by
    the `clock`, as `per` says."""
    found: dict[str, dict[int, list[float]]] = {}
    for run in runs:
        if run["axis"] == axis:
            found.setdefault(run["name"], {}).setdefault(run["at"], []).append(run["done"] / run[per])
    return {name: [(at, statistics.median(rates[at])) for at in sorted(rates)] for name, rates in found.items()}


def flat(curve: Sequence[tuple[float, float]]) -> float:
    """What is left at the end of a curve of what it had at its beginning."""
    return curve[-1][1] / curve[0][1]


def apart(places: Sequence[float], gap: float) -> list[float]:
    """The same places in the same order, at least `gap` apart, and together as near as can be to where they were."""
    order = sorted(range(len(places)), key=places.__getitem__)
    groups: list[list[float]] = []
    for slot, index in enumerate(order):
        groups.append([places[index] - slot * gap])
        while len(groups) > 1 and statistics.fmean(groups[-2]) > statistics.fmean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    moved = [0.0] * len(places)
    levels = [statistics.fmean(group) for group in groups for _ in group]
    for slot, index in enumerate(order):
        moved[index] = levels[slot] + slot * gap
    return moved


def short(number: float) -> str:
    """Two significant digits, as an axis says it: 950, 1.2k, 50k, 1M."""
    rounded = float(f"{number:.2g}")
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if rounded >= size:
            return f"{rounded / size:g}{unit}"
    return f"{rounded:g}"
