"""Payments by YooKassa, which signs nothing: a notification is a hint, and what is true is asked of YooKassa itself."""

import re

from tidemill import NewJob, PermanentError, check, handler, senders

API = "https://api.yookassa.ru/v3"
PLACES = {"payment": "payments", "refund": "refunds"}
ID = re.compile("[0-9a-z-]{1,64}")  # it becomes part of an address

yookassa = senders.yookassa()


@yookassa.route
def notifications(event):
    match event.json:
        case {"event": str(name), "object": {"id": str(number)}} if ID.fullmatch(number):
            if place := PLACES.get(name.partition(".")[0]):
                yield NewJob("yookassa.fetch", {"event": name, "place": place, "id": number}, key=f"{name}:{number}")


@handler("yookassa.fetch", limit=("yookassa", 5), timeout=30)
def fetch(job, ctx):
    """What YooKassa itself says of a payment or a refund; whoever made one up gets a 404, which ends the job."""
    needed = ("YOOKASSA_SHOP_ID", "YOOKASSA_SECRET_KEY")
    if missing := [name for name in needed if not ctx.settings.get(name)]:
        raise PermanentError(f"missing settings: {', '.join(missing)}: set them, and retry this job")
    place = f"{job.payload['place']}/{job.payload['id']}"
    response = ctx.http.get(
        f"{ctx.settings.get('YOOKASSA_API') or API}/{place}",
        auth=tuple(ctx.settings[name] for name in needed),
        timeout=(5, 10),
    )
    found = check(response, f"YooKassa {place}").json()
    ctx.log.info("payment", place=place, status=found["status"], amount=found["amount"], notified=job.payload["event"])
    return {"status": found["status"], "amount": found["amount"]}
