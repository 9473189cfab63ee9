"""How the demo tells: lines with times, claims that are checked, and what it asks the machine."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from local.stack import Stack

LEASE = 4  # seconds; 60 unless told


class Demo:
    """Tells what happens on a running stack, with times, and checks it. While the file `bug` exists, order.bill fails."""

    def __init__(self, stack: Stack, bug: Path) -> None:
        self.stack = stack
        self.bug = bug
        self.began = time.monotonic()
        self.claims = 0

    def say(self, text: str) -> None:
        print(f"{time.monotonic() - self.began:6.1f} s  {text}", flush=True)

    def claim(self, holds: bool, text: str) -> None:
        self.claims += 1
        self.say(f"  {'ok ' if holds else 'NOT TRUE:'} {text}")
        if not holds:
            raise SystemExit(f"the claim does not hold: {text}")

    def post(
        self, body: dict[str, Any], delivery: str = "", secret: str | None = None, source: str = "shop"
    ) -> tuple[int, dict[str, Any]]:
        """Post to a source; signed with its secret unless another is given."""
        data = json.dumps(body).encode()
        key = self.stack.settings[f"{source.upper()}_WEBHOOK_SECRET"] if secret is None else secret
        headers = {"X-Signature": hmac.new(key.encode(), data, hashlib.sha256).hexdigest(), "X-Delivery-Id": delivery}
        request = urllib.request.Request(f"{self.stack.url}/hooks/{source}", data, {k: v for k, v in headers.items() if v})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.stack.database_url, autocommit=True) as connection:
            return connection.execute(query, values).fetchall()

    def job_of(self, event: int) -> int:
        return int(self.rows("select id from jobs where event_id = %s order by id", event)[0][0])

    def status(self, job: int) -> tuple[str, int]:
        return self.rows("select status, attempts from jobs where id = %s", job)[0]

    def kill_drains(self) -> list[int]:
        """Kill the processes of the drain where they stand; returns their ids."""
        killed = self.stack.processes("drain")
        for process in killed:
            os.kill(process, signal.SIGKILL)
        return killed

    def until(self, reached: Callable[[], bool], seconds: float = 40) -> bool:
        ends = time.monotonic() + seconds
        while not reached():
            if time.monotonic() > ends:
                return False
            time.sleep(0.02)
        return True

    def operate(self, **command: Any) -> dict[str, Any]:
        return dict(self.stack.invoke("replay", {**command, "by": "demo"}))
