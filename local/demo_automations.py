"""The automations of `make demo`: a shop whose orders go wrong in every way that the demo tells."""

from __future__ import annotations

import time
from pathlib import Path

from tidemill import NewJob, PermanentError, Source, handler
from tidemill.verify import header, hmac_sha256

shop = Source("shop", verify=hmac_sha256("X-Signature", secret="SHOP_WEBHOOK_SECRET"), dedup_key=header("X-Delivery-Id"))


@shop.route
def orders(event):
    yield NewJob(event.json["kind"], event.json)


@handler("order.announce", timeout=20)
def announce(job, ctx):
    ctx.telegram.send_message(ctx.settings["TELEGRAM_ALERT_CHAT_ID"], f"Order {job.payload['number']} is paid")


@handler("order.pack", timeout=20)
def pack(job, ctx):
    ctx.log.info("packing", order=job.payload["number"], attempt=job.attempt)
    if job.attempt == 1:
        time.sleep(15)  # long enough to be killed in the middle
    ctx.log.info("packed", order=job.payload["number"])


@handler("order.bill", timeout=20)
def bill(job, ctx):
    if Path(ctx.settings["DEMO_BUG"]).exists():
        raise PermanentError("an order without an amount")
    ctx.log.info("billed", order=job.payload["number"])
