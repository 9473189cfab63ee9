"""`make growth`: how a drain and a pickup do as their tables and their load grow, as figures (docs/growth.json) and as a
picture (docs/growth.png).

Each run is a contender in a process of its own on a fresh database of one embedded Postgres, with the durability it comes
with. It drains for three seconds, or until its line is empty. Its jobs are counted by the clock, and by the CPU seconds that
it and the server used for them, which say much the same on a busy machine as on a quiet one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import pickup
from bench.curves import flat, medians
from bench.lines import ROOT
from bench.measure import PEERS, Server, available
from local.postgres import Postgres

FIGURES = ROOT / "docs/growth.json"
SECONDS = 3.0  # of each drain
PICKUP_SECONDS = 10.0  # of each load
LOADS = (20, 50, 100, 200, 400)  # deliveries a second

AXES = {
    "ready": (10_000, 30_000, 100_000, 300_000, 1_000_000),
    "finished": (0, 100_000, 250_000, 500_000, 1_000_000),
    "churned": (0, 25_000, 50_000, 100_000, 200_000),
}

# name: (contender, jobs that last it for as long as a drain is measured)
CONTENDERS = {
    "Tidemill": ("tidemill_for", 200_000),
    "graphile-worker": ("graphile-worker", 160_000),
    "PgQueuer": ("pgqueuer", 60_000),
    "one at a time": ("naive", 10_000),
}
KEEPS_NONE = {"graphile-worker": ("finished",)}  # it deletes what is done: nothing grows that could be measured


def main() -> None:
    parser = argparse.ArgumentParser(prog="make growth", description=__doc__)
    parser.add_argument("--draw", action="store_true", help="measure nothing; draw what was measured before")
    parser.add_argument("--by", choices=["cpu", "clock"], default="clock", help="the seconds of the picture (clock)")
    parser.add_argument("--rounds", type=int, default=2, help="how often each is measured (2)")
    parser.add_argument("--minutes", type=float, default=20, help="begin no round that would end later (20)")
    chosen = parser.parse_args()
    if not chosen.draw:
        FIGURES.write_text(json.dumps(measure(chosen.rounds, chosen.minutes * 60), indent=1) + "\n")
    tell(json.loads(FIGURES.read_text())["runs"])
    subprocess.run([str(PEERS), "-m", "bench.growth_plot", chosen.by], cwd=ROOT, check=True)


def measure(rounds: int, limit: float) -> dict[str, Any]:
    """Every run, with its jobs and its seconds, by the clock and of CPU (contender and server), and every load. At least one
    round, and a further one where `limit`, in seconds, leaves as much time as the longest took."""
    found: dict[str, Any] = {"cores": os.cpu_count(), "load_average": [], "runs": [], "pickup": []}
    began, longest = time.monotonic(), 0.0
    for number in range(rounds):
        start = time.monotonic()
        if number and start + longest > began + limit:
            print(f"no time for round {number + 1}", flush=True)
            break
        with tempfile.TemporaryDirectory(prefix="tidemill-bench-") as folder, Postgres(Path(folder) / "data") as postgres:
            found["runs"] += drains(Server(postgres))
        for load in LOADS:
            one = pickup.measure(load, PICKUP_SECONDS)
            found["pickup"].append(one._asdict())
            print(f"pickup {load:>10,}  {one.p50:8.1f} {one.p99:8.1f} ms at {one.reached:.0f}/s", flush=True)
        found["load_average"].append(os.getloadavg()[1])
        longest = max(longest, time.monotonic() - start)
    return found


def drains(server: Server) -> list[dict[str, Any]]:
    """One round: all contenders, in turns, at each place of each axis."""
    runs = []
    for axis, places in AXES.items():
        for at in places:
            for name, (contender, ready) in CONTENDERS.items():
                if not available(contender) or (at and axis in KEEPS_NONE.get(name, ())):
                    continue
                count, beside = setting(axis, at, ready)
                used = server.run(contender, count, BENCH_BESIDE=beside, BENCH_SECONDS=str(SECONDS))
                runs.append(
                    {"axis": axis, "at": at, "name": name, "done": used.done}
                    | {"clock": round(used.seconds, 3), "cpu": round(used.client + used.server, 2)}
                )
                print(f"{axis:8} {at:>9,}  {name:16} {used.rate:9,.0f} jobs/s", flush=True)
    return runs


def tell(runs: list[dict[str, Any]]) -> None:
    """The first rate of each curve, and what is left of it at the end."""
    print(f"{'':26} {'jobs a second':>14} {'at the end':>11} {'jobs a CPU second':>18} {'at the end':>11}")
    for axis in AXES:
        by_cpu = medians(runs, axis, "cpu")
        for name, by_clock in medians(runs, axis, "clock").items():
            print(
                f"{axis:8} {name:17} {by_clock[0][1]:14,.0f} {flat(by_clock):11.2f} {by_cpu[name][0][1]:18,.0f}"
                f" {flat(by_cpu[name]):11.2f}"
            )


def setting(axis: str, at: int, ready: int) -> tuple[int, str]:
    """How many jobs the contender is to put into its line, and what beside it."""
    if axis == "ready":
        return at, "nothing"
    return ready, f"{axis}:{at}" if at else "nothing"


if __name__ == "__main__":
    main()
