"""The plan of a chaos run: the same for a seed, and with everything in it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chaos.plan import DRAINS, OUTAGE, Fault, plan


def test_a_seed_has_one_plan() -> None:
    assert plan(7, 20) == plan(7, 20)
    assert plan(7, 20).faults != plan(8, 20).faults


def test_a_short_run_has_every_kind_and_every_fault() -> None:
    short = plan(14, 10)
    assert {kind for delivery in short.deliveries for kind in delivery.kinds or ("none",)} == {
        "none", "ok", "charge", "limited", "write", "flaky", "slow", "permanent", "discard", "hang", "killer",
    }  # fmt: skip
    assert {fault.what for fault in short.faults} == {
        "kill", "lose answer", "cut", "hold", "stop", "late word", "outage", "restart", "crash", "telegram",
    }  # fmt: skip


def test_everything_comes_in_order_of_time_and_within_the_run() -> None:
    long = plan(3, 60)
    everything: tuple[tuple[Any, ...], ...] = (*long.sends, long.inserts, long.lates, long.commands, long.faults)
    for line in everything:
        times = [one.at for one in line]
        assert times == sorted(times) and times[0] >= 0
    assert all(one.at < 60 for line in everything[-4:] for one in line)


@pytest.mark.parametrize("seed", range(20))
def test_no_process_is_stopped_while_it_is_out_of_touch(seed: int) -> None:
    faults = plan(seed, 60).faults
    for stop in (fault for fault in faults if fault.what == "stop"):
        assert not [fault for fault in faults if _touches(fault, stop.slot) and 0 <= stop.at - fault.at < OUTAGE]


def _touches(fault: Fault, slot: str) -> bool:
    return fault.what in ("restart", "crash") or (fault.what == "outage" and fault.slot == slot in DRAINS)
