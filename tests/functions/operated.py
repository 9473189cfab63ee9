"""Automations for the tests of the operator: an order makes a job, keyed by its number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidemill import NewJob, Source, handler
from tidemill.model import Event
from tidemill.verify import secret_header

shop = Source("shop", verify=secret_header("X-Shop-Secret", secret="SHOP_WEBHOOK_SECRET"))


@shop.route
def orders(event: Event) -> Iterator[NewJob]:
    yield NewJob("order.announce", event.json, key=event.json["number"])


@handler("order.announce", limit=("telegram", 5))
def announce(job: Any, ctx: Any) -> None:
    print("this must not stand in the output of the CLI")
