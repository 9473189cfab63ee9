"""What a million events cost: measured durations and memory, turned into money by public list prices.

`python -m bench.cost [--intake-ms 15] [--job-ms 22.2] ...`. Prices are those of us-east-1 for arm64 without the free
tier, as third parties gave them in 2026 of AWS's pricing pages for Lambda, API Gateway and CloudWatch: check them first.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

MILLION = 1_000_000
GB_SECOND = 0.0000133334  # dollars; Lambda, arm64
REQUEST = 0.20 / MILLION  # dollars; Lambda
HTTP_API = 1.00 / MILLION  # dollars; API Gateway's HTTP API, the first 300 million
LOG_GB = 0.50  # dollars; CloudWatch Logs, taken in
GB = 2**30

# Dollars a million events or runs, as their price lists say (they count what they bill in different ways).
HOSTED = {"QStash": 10, "Hatchet": 9, "Trigger.dev (and compute)": 25, "Hookdeck": 49, "Svix": 95, "Temporal Cloud": 110}
DATABASE = 14.0  # dollars a month; the smallest database that AWS runs


@dataclass(frozen=True)
class Measured:
    """What one event takes, with one job: `intake_ms` billed milliseconds of the intake at `intake_mb`; `job_ms` of a
    drain at `drain_mb` for one job; `jobs_a_drain` jobs share one invocation; `log_bytes` are written for both."""

    intake_ms: float = 15.0
    intake_mb: int = 256
    job_ms: float = 22.2
    drain_mb: int = 512
    jobs_a_drain: float = 1000.0
    log_bytes: int = 1024


def million(measured: Measured) -> dict[str, float]:
    """Dollars for a million events, by what they are paid for."""
    return {
        "API Gateway": HTTP_API * MILLION,
        "intake, requests": REQUEST * MILLION,
        "intake, compute": measured.intake_ms / 1000 * measured.intake_mb / 1024 * GB_SECOND * MILLION,
        "drain, requests": REQUEST * MILLION / measured.jobs_a_drain,
        "drain, compute": measured.job_ms / 1000 * measured.drain_mb / 1024 * GB_SECOND * MILLION,
        "log": measured.log_bytes * MILLION / GB * LOG_GB,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in vars(Measured()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value, help=f"default {value:g}")
    measured = Measured(**vars(parser.parse_args()))
    parts = million(measured)
    for name, dollars in parts.items():
        print(f"{name:28} {dollars:8.2f}")
    print(
        f"{'Tidemill, a million events':28} {sum(parts.values()):8.2f} and {DATABASE:.0f} a month for the smallest database"
    )
    for name, price in sorted(HOSTED.items(), key=lambda one: one[1]):
        print(f"{name:28} {price:8.2f}")


if __name__ == "__main__":
    main()
