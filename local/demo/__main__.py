"""`python -m local.demo`: tells the stories; exits with 1 if a claim does not hold."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from local.demo import invoices, onboarding, orders
from local.demo.telling import LEASE, Demo
from local.stack import ROOT, Stack

NOT_FROM_OUTSIDE = ("DATABASE_URL", "MAIL_API", "TELEGRAM_BOT_TOKEN")  # the demo looks into stand-ins, and breaks things


def main() -> int:
    """The exit code."""
    with tempfile.TemporaryDirectory(prefix="tidemill-demo-") as folder:
        bug = Path(folder) / "bug"
        environ = {name: value for name, value in os.environ.items() if name not in NOT_FROM_OUTSIDE}
        environ |= {
            "AUTOMATIONS": "local.demo_automations,automations.invoices,automations.onboarding",
            "PYTHONPATH": str(ROOT),
            "DEMO_BUG": str(bug),
            "LEASE_SECONDS": str(LEASE),
            "DRAIN_LINGER": "15",  # so that the retries are seen when they are due, and not at the next full minute
        }
        print("Starting Postgres and the functions ...", flush=True)
        with Stack(environ, folder=Path(folder)) as stack:
            demo = Demo(stack, bug)
            orders.tell(demo)
            invoices.tell(demo)
            onboarding.tell(demo)
            others = demo.rows("select kind, status from jobs where status <> 'done'")
            refunded = [("onboarding", "failed")]
            demo.claim(others == refunded, "nothing was lost: every job is done, but the one whose money went back")
            demo.say(f"All {demo.claims} claims held.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
