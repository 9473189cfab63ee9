"""The automations of the shop whose bad Friday console_story tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidemill import NewJob, Source, daily, every, handler
from tidemill.model import Event
from tidemill.verify import secret_header

shop = Source("shop", verify=secret_header("X-Shop-Secret", secret="SHOP_WEBHOOK_SECRET"))


@shop.route
def orders(event: Event) -> Iterator[NewJob]:
    yield NewJob("order.announce", event.json["order"])


@handler("order.announce", limit=("telegram", 5))
@handler("crm.sync", limit=("crm", 4))
@handler("invoice.send", limit=("mail", 3))
@handler("stock.reserve")
@handler("onboarding")
def nothing(job: Any, ctx: Any) -> None:
    """What matters here stands in the database already."""


@daily("09:00", tz="Europe/Rome", name="digest")
@handler("order.total")
def total(job: Any, ctx: Any) -> None:
    """As above."""


@every(minutes=15, name="stock")
@handler("stock.count")
def count(job: Any, ctx: Any) -> None:
    """As above."""
