"""The whole machine, with an automation that was dropped in beside the shipped ones."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests

from local.postgres import Postgres
from local.stack import Stack

SHOP = '''
"""In the style of the README's example."""

import time

from tidemill import NewJob, PermanentError, Source, handler
from tidemill.verify import hmac_sha256, header

shop = Source(
    "shop",
    verify=hmac_sha256("X-Shop-Signature", secret="SHOP_WEBHOOK_SECRET"),
    dedup_key=header("X-Shop-Delivery"),
)


@shop.route
def orders(event):
    yield NewJob(event.json["type"], event.json["order"])


@handler("order.announce", limit=("telegram", 5), timeout=20)
def announce(job, ctx):
    if "number" not in job.payload:
        raise PermanentError("an order without a number")
    ctx.telegram.send_message(ctx.settings["TELEGRAM_ALERT_CHAT_ID"], f"Order {job.payload['number']} is paid")


@handler("order.pack", timeout=30)
def pack(job, ctx):
    ctx.log.info("packing", attempt=job.attempt)
    if job.attempt == 1:
        time.sleep(25)
    ctx.log.info("packed", attempt=job.attempt)
'''


class Shop:
    """The sender's side: posts signed deliveries, and looks."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack

    def post(self, kind: str, order: dict[str, Any], delivery: str = "", secret: str | None = None) -> requests.Response:
        body = json.dumps({"type": kind, "order": order}).encode()
        key = self.stack.settings["SHOP_WEBHOOK_SECRET"] if secret is None else secret
        headers = {"X-Shop-Signature": hmac.new(key.encode(), body, hashlib.sha256).hexdigest()}
        if delivery:
            headers["X-Shop-Delivery"] = delivery
        return requests.post(f"{self.stack.url}/hooks/shop", data=body, headers=headers, timeout=30)

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.stack.database_url, autocommit=True) as connection:
            cursor = connection.execute(query, parameters)
            return cursor.fetchall() if cursor.description else []

    def job(self, event: int) -> int:
        ((job,),) = self.rows("select id from jobs where event_id = %s", event)
        return int(job)


@pytest.fixture(scope="module")
def shop(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder: Path = tmp_path_factory.mktemp("stack")
    (folder / "dropped_in.py").write_text(SHOP)
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("create database e2e template template_tidemill strategy file_copy")
    environ = {
        "AUTOMATIONS": "automations,dropped_in",
        "PYTHONPATH": str(folder),
        "DATABASE_URL": postgres.url("e2e"),
        "LEASE_SECONDS": "2",
        "AWS_PROFILE": "of a real account",
    }
    with Stack(environ, folder=folder) as stack:
        yield Shop(stack)
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("drop database e2e with (force)")
