"""The automations of a chaos run: a source whose deliveries say what jobs they want, and a handler for each way to end.

Each start of a handler is a line in the file CHAOS_STARTS, written before anything else can happen.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from typing import Any

import requests  # noqa: F401  (before the first job, whose call to the provider it would hold up)
from tidemill import Discard, NewJob, PermanentError, Snooze, Source, check, every, handler
from tidemill.verify import header, hmac_sha256

from tests.chaos.plan import SCHEDULES

LIMIT = 3
KILLER_ATTEMPTS = 3
DAY = 24 * 60  # minutes
PATIENCE = 1.0  # seconds that a handler waits for the provider; less than its timeout

chaos = Source(
    "chaos",
    verify=hmac_sha256("X-Chaos-Signature", secret="CHAOS_WEBHOOK_SECRET"),
    dedup_key=header("X-Chaos-Delivery"),
)


@chaos.route
def jobs(event: Any) -> Iterator[NewJob]:
    """Every second one has a key, tenants and priorities are mixed; a delivery without `kinds` cannot be routed."""
    for index, kind in enumerate(event.json["kinds"]):
        purpose = f"{event.json['delivery']}:{index}"
        key = purpose if index % 2 else None
        yield NewJob(f"chaos.{kind}", {"purpose": purpose}, key=key, tenant=f"tenant-{index}", priority=index % 3)


@handler("chaos.ok", timeout=3)
def ok(job: Any, ctx: Any) -> str:
    begin(job, ctx)
    return "done"


@handler("chaos.slow", timeout=4)
def slow(job: Any, ctx: Any) -> str | None:
    """Half of them have a result: they are settled by another statement than those that are plainly done."""
    begin(job, ctx)
    time.sleep(1.0)
    return "slow" if job.id % 2 else None


@handler("chaos.flaky", timeout=3)
def flaky(job: Any, ctx: Any) -> Snooze | None:
    begin(job, ctx)
    draw = random.random()
    if draw < 0.3:
        raise RuntimeError("not this time")
    return Snooze(0.3) if draw < 0.5 else None


@handler("chaos.permanent", timeout=3)
def permanent(job: Any, ctx: Any) -> None:
    begin(job, ctx)
    raise PermanentError("never")


@handler("chaos.discard", timeout=3)
def discard(job: Any, ctx: Any) -> Discard:
    begin(job, ctx)
    return Discard("not wanted")


@handler("chaos.killer", timeout=3, max_attempts=KILLER_ATTEMPTS)
def killer(job: Any, ctx: Any) -> None:
    begin(job, ctx)
    os._exit(137)


@handler("chaos.hang", timeout=0.5, max_attempts=2)
def hang(job: Any, ctx: Any) -> None:
    begin(job, ctx)
    time.sleep(60)


@handler("chaos.limited", timeout=3, limit=("provider", LIMIT))
def limited(job: Any, ctx: Any) -> None:
    begin(job, ctx)
    body = {"job": job.id, "process": os.getpid()}
    check(ctx.http.post(f"{ctx.settings['CHAOS_PROVIDER']}/gate", json=body, timeout=PATIENCE), "the gate")


@handler("chaos.charge", timeout=3)
def charge(job: Any, ctx: Any) -> None:
    begin(job, ctx)
    key = f"{job.kind} {job.key or job.id}"
    check(
        ctx.http.post(
            f"{ctx.settings['CHAOS_PROVIDER']}/charges",
            json={"purpose": job.payload["purpose"]},
            headers={"Idempotency-Key": key},
            timeout=PATIENCE,
        ),
        "the charge",
    )


@handler("chaos.write", timeout=3)
def write(job: Any, ctx: Any) -> None:
    """A row and a job in one transaction."""
    begin(job, ctx)
    with ctx.connection.transaction():
        written = ctx.connection.execute("insert into written values (%s) on conflict do nothing returning 1", (job.id,))
        if written.fetchone():
            ctx.enqueue(NewJob("chaos.child", {"purpose": f"child of {job.id}", "parent": job.id}, key=job.id))


@handler("chaos.child", timeout=3)
def child(job: Any, ctx: Any) -> None:
    begin(job, ctx)


@handler("chaos.tide", timeout=3)
def tide(job: Any, ctx: Any) -> None:
    begin(job, ctx)


for number in range(SCHEDULES):
    every(minutes=DAY, name=f"tide-{number}", catch_up=100)(tide)


def begin(job: Any, ctx: Any) -> None:
    line = json.dumps([job.id, job.claim_id, job.attempt, os.getpid(), job.correlation_id])
    file = os.open(ctx.settings["CHAOS_STARTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, f"{line}\n".encode())
    os.close(file)
