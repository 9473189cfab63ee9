"""`make bench`: one table, every figure beside the limit or the peer of the same run.

Drains of 20,000 jobs that do nothing, each contender in turn on a fresh database of one embedded Postgres with the
durability it comes with; what stands in the tables besides; the intake; from an answer to the handler; cold starts. Absolute
figures are this machine's; the ratios are what to compare.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import cold, pickup
from bench.measure import Server, Used, available
from local.postgres import Postgres

JOBS = 20_000
FEW = 1_000  # of those that would take minutes for more
FAR = 0.001  # seconds to the database and back

# name: (contender, jobs, round trip)
DRAINS: dict[str, tuple[str, int, float]] = {
    "raw limit": ("raw", JOBS, 0),
    "Tidemill": ("tidemill", JOBS, 0),
    "graphile-worker": ("graphile-worker", JOBS, 0),
    "pg-boss": ("pg-boss", JOBS, 0),
    "PgQueuer": ("pgqueuer", JOBS, 0),
    "Procrastinate": ("procrastinate", FEW, 0),
    "one at a time": ("naive", FEW, 0),
    "raw limit, 1 ms away": ("raw", JOBS, FAR),
    "Tidemill, 1 ms away": ("tidemill", JOBS, FAR),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured (3)")
    parser.add_argument("--full", action="store_true", help="five million finished jobs, and not one")
    parser.add_argument("--only", choices=[*PARTS], help="one part of the table")
    parser.add_argument("--json", action="store_true", help="for programs")
    chosen = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="tidemill-bench-") as folder, Postgres(Path(folder) / "data") as postgres:
        server = Server(postgres)
        for name, part in PARTS.items():
            if chosen.only in (None, name):
                found[name] = part(server, chosen, (lambda line: None) if chosen.json else say)
    if chosen.json:
        print(json.dumps(found, indent=2))


def drains(server: Server, chosen: argparse.Namespace, say: Callable[[str], None]) -> dict[str, Any]:
    """The medians of each contender."""
    taken: dict[str, list[Used]] = {}
    for name, (contender, _, _) in DRAINS.items():
        if available(contender):
            taken[name] = []
        else:
            say(f"{name} is not installed, and is left out")
    for _ in range(chosen.rounds):
        for name, runs in taken.items():
            contender, count, far = DRAINS[name]
            runs.append(server.run(contender, count, far))
    say(f"\n{'one process drains':24} {'jobs/s':>8} {'of raw':>7} {'CPU us/job':>11} {'server us':>10} {'WAL B':>6} MB")
    rows: dict[str, Any] = {}
    for name, runs in taken.items():
        base = "raw limit, 1 ms away" if DRAINS[name][2] else "raw limit"
        rate = statistics.median(one.rate for one in runs)
        ratio = rate / statistics.median(one.rate for one in taken[base])
        client, own, wal = (
            statistics.median(getattr(one, what) / one.done for one in runs) for what in ("client", "server", "wal")
        )
        memory = max(one.memory for one in runs)
        rows[name] = {
            "rate": rate, "of_raw": ratio, "client_us": client * 1e6, "server_us": own * 1e6, "wal": wal, "memory": memory,
        }  # fmt: skip
        say(f"{name:24} {rate:8,.0f} {ratio:7.3f} {client * 1e6:11.1f} {own * 1e6:10.1f} {wal:6,.0f} {memory / 1e6:.0f}")
    return rows


def flat(server: Server, chosen: argparse.Namespace, say: Callable[[str], None]) -> dict[str, Any]:
    """The rate beside full tables, in parts of the rate beside empty ones."""
    beside = {
        "nothing else": "nothing",
        "1,000,000 more ready": "ready:1000000",
        "5,000,000 finished" if chosen.full else "1,000,000 finished": f"finished:{5 if chosen.full else 1}000000",
        "2,000 tenants": "tenants:2000",
        "200,000 churned under a snapshot": "churned:200000",
    }
    runs: dict[str, list[float]] = {name: [] for name in beside}
    for _ in range(max(chosen.rounds - 1, 1)):
        for name, what in beside.items():
            runs[name].append(server.run("tidemill_for", 10 * JOBS, BENCH_BESIDE=what, BENCH_SECONDS="3").rate)
    say(f"\n{'a drain of three seconds beside':36} {'jobs/s':>8} {'ratio':>6}")
    base = statistics.median(runs["nothing else"])
    rates = {name: statistics.median(found) for name, found in runs.items()}
    for name, rate in rates.items():
        say(f"{name:36} {rate:8,.0f} {rate / base:6.2f}")
    return {name: {"rate": rate, "ratio": rate / base} for name, rate in rates.items()}


def intake(server: Server, chosen: argparse.Namespace, say: Callable[[str], None]) -> dict[str, Any]:
    """The intake beside the one statement that it cannot do without."""
    runs: dict[str, list[Used]] = {"raw_intake": [], "intake": []}
    together: dict[str, list[float]] = {"raw_intake": [], "intake": []}
    for _ in range(chosen.rounds):
        for name, used in runs.items():
            used.append(server.run(name, 2_000))
            together[name].append(server.run_together(name, 1_000, 4))
    p50 = {name: statistics.median(one.told["p50"] for one in used) * 1000 for name, used in runs.items()}
    rate = {name: statistics.median(found) for name, found in together.items()}
    last = runs["intake"][-1].told
    say(f"\n{'the intake, an event with two jobs':36} {'p50 ms':>8} {'with four, events/s':>20}")
    say(f"{'raw insert, one statement':36} {p50['raw_intake']:8.2f} {rate['raw_intake']:20,.0f}")
    say(f"{'functions/intake':36} {p50['intake']:8.2f} {rate['intake']:20,.0f}")
    ratios = (p50["intake"] / p50["raw_intake"], rate["intake"] / rate["raw_intake"])
    say(f"{'ratio':36} {ratios[0]:8.2f} {ratios[1]:20.2f}")
    say(f"round trips to the database: {last['round_trips']}; a body of 1 MiB adds {last['large_body'] / 1e6:.1f} MB")
    return {"p50_ms": p50, "rate": rate, "p50_ratio": ratios[0], "rate_ratio": ratios[1], **last}


def picked_up(server: Server, chosen: argparse.Namespace, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """From an answer of 202 to the handler's first line."""
    say(f"\n{'from 202 to the first line, ms':32} {'sent/s':>7} {'p50':>7} {'p99':>7} {'worst, half 1':>14} {'half 2':>7}")
    found = []
    for rate, seconds in ((100, 10.0), (1_000, 5.0)):
        one = pickup.measure(rate, seconds)
        found.append(one._asdict())
        say(
            f"{f'{rate} deliveries a second':32} {one.reached:7.0f} {one.p50:7.1f} {one.p99:7.1f} {one.first_half:14.1f}"
            f" {one.second_half:7.1f}"
        )
    return found


def cold_starts(server: Server, chosen: argparse.Namespace, say: Callable[[str], None]) -> dict[str, float]:
    """From the start of the process to its first answer."""
    found = cold.measure(server, max(chosen.rounds, 5))
    ratio = found["intake"] / found["bare"]
    say(f"\n{'cold start':36} {'ms':>8} {'ratio':>6}")
    say(f"{'a bare handler that imports psycopg':36} {found['bare'] * 1000:8.0f} {1:6.2f}")
    say(f"{'the intake, with its first answer':36} {found['intake'] * 1000:8.0f} {ratio:6.2f}")
    return {**found, "ratio": ratio}


def say(line: str) -> None:
    print(line, flush=True)


PARTS: dict[str, Callable[[Server, argparse.Namespace, Callable[[str], None]], Any]] = {
    "drain": drains,
    "flat": flat,
    "intake": intake,
    "pickup": picked_up,
    "cold": cold_starts,
}

if __name__ == "__main__":
    main()
