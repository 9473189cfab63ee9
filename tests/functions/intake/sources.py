"""The automations of the intake's tests: what a route does stands in the body that it gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidemill import Accepted, Event, Job, NewJob, Refused, Reply, Request, Source, handler
from tidemill.verify import header, hmac_sha256, json_path, secret_header

SECRETS = {
    "SHOP_WEBHOOK_SECRET": "shop-secret-1",
    "BOT_WEBHOOK_SECRET": "bot-secret-1",
    "PLAIN_WEBHOOK_SECRET": "plain-secret-1",
}

shop = Source("shop", hmac_sha256("X-Shop-Signature", secret="SHOP_WEBHOOK_SECRET"), header("X-Shop-Delivery"))
other = Source("other", hmac_sha256("X-Shop-Signature", secret="SHOP_WEBHOOK_SECRET"), header("X-Shop-Delivery"))
bot = Source("bot", secret_header("X-Bot-Token", secret="BOT_WEBHOOK_SECRET"), json_path("update_id"))
form = Source("form", hmac_sha256("X-Shop-Signature", secret="SHOP_WEBHOOK_SECRET"), header("X-Shop-Delivery"))
plain = Source("plain", hmac_sha256("X-Shop-Signature", secret="PLAIN_WEBHOOK_SECRET"))


@shop.route
@other.route
@bot.route
@plain.route
def orders(event: Event) -> Iterator[NewJob]:
    """A job for each of `orders`, with its number as key, and whatever else stands in the body."""
    order = event.json
    for number in order.get("orders", []):
        yield NewJob("order", {"number": number, "secret": event.headers.get("x-shop-signature")}, key=number)
    if "payload" in order:
        yield NewJob("order", order["payload"])
    if "options" in order:
        yield NewJob("limited", **order["options"])
    if "raise" in order:
        raise ValueError(order["raise"])
    if "id" in order:
        yield NewJob("order", {"event": event.id}, key=f"event:{event.id}")


@form.route
def fields(event: Event) -> Iterator[NewJob]:
    yield NewJob("order", event.form)


@handler("limited", limit=("narrow", 2))
def limited(job: Job, ctx: object) -> dict[str, str]:
    return {"out": "a\x00b"}


def greeting(request: Request, settings: Mapping[str, str], now: float) -> Accepted | Refused | Reply:
    if request.method == "GET" and "challenge=" in request.url:
        return Reply(200, "text/plain", request.url.partition("challenge=")[2])
    return Accepted() if request.body == b"genuine" else Refused("not the word")


hello = Source("hello", greeting)
