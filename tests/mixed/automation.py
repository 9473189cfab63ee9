"""What both versions of the code run in these tests: written with names that have been public from the start."""

from datetime import timedelta

from tidemill import NewJob, Signal, Source, every, handler
from tidemill.verify import header, hmac_sha256

shop = Source("shop", verify=hmac_sha256("X-Signature", secret="SHOP_WEBHOOK_SECRET"), dedup_key=header("X-Delivery"))


@shop.route
def orders(event):
    match event.json:
        case {"signal": name}:
            yield Signal(name, {"at": 1})
        case {"kind": kind, "key": key}:
            yield NewJob(kind, {"key": key}, key=key, tenant=event.json.get("tenant", ""))


@handler("plain")
def plain(job, ctx):
    return job.payload


@handler("limited", limit=("provider", 2))
def limited(job, ctx):
    with ctx.once(f"limited {job.payload['key']}") as entry:
        entry.result = job.payload["key"]
    return entry.result


@handler("flow")
def flow(job, ctx):
    first = ctx.step("first", lambda: job.payload["key"])
    signal = ctx.wait_for(f"go:{job.payload['key']}", timedelta(days=1))
    return [first, signal]


@handler("stubborn", max_attempts=1)
def stubborn(job, ctx):
    raise RuntimeError("never")


@every(minutes=1)
@handler("slot")
def slot(job, ctx):
    return "slot"
