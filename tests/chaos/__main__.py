"""`python -m tests.chaos --seconds 60 --seed 1`: one run, its counts, and exit status 1 where a claim does not hold."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.chaos.claims import judge, table
from tests.chaos.plan import plan
from tests.chaos.run import Run

LONGEST = 3600.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="make chaos", description="Disturb everything, and see whether anything was lost.")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long it is disturbed (60)")
    parser.add_argument("--seed", type=int, default=1, help="what is done and when comes from this number (1)")
    given = parser.parse_args()
    if not 1 <= given.seconds <= LONGEST:
        parser.error(f"--seconds must be from 1 to {LONGEST:g}, not {given.seconds:g}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    folder = Path(tempfile.mkdtemp(prefix="tidemill-chaos-"))
    say(f"seed {given.seed}, {given.seconds:g} s; everything is in {folder}")
    keep = False
    try:
        with Run(plan(given.seed, given.seconds), folder, say) as run:
            evidence = run.go()
        verdicts = judge(evidence)
        say(table(evidence, verdicts))
        keep = any(verdict.faults for verdict in verdicts)
        outcome = f"IT DOES NOT HOLD; the logs are in {folder}" if keep else "everything holds"
        say(f"\nseed {given.seed}, {given.seconds:g} s: {outcome}")
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if keep else 0


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
