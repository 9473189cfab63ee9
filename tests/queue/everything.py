"""Every function once, with what it sends to the database: deliveries, drains, a tick, the relay, absorb, operators."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from tidemill import Event, NewJob, PermanentError, Source, park
from tidemill.app import App
from tidemill.handlers import Handler
from tidemill.model import Delivery, Signal
from tidemill.settings import Settings
from tidemill.verify import header, hmac_sha256
from tidemill.wire import Connection


def routes(event: Event) -> Iterator[NewJob | Signal]:
    for kind in ("effects", "flow", "fails", "hangs", "out"):
        yield NewJob(kind, {"event": event.id}, key=f"{kind}:{event.id}")
    yield Signal(f"seen:{event.id}")


def effects(job: Any, ctx: Any) -> None:
    with ctx.connection.transaction():
        ctx.publish("news", {"job": job.id})
        ctx.enqueue(NewJob("more", key=job.id))
    with ctx.once("k") as entry:
        entry.result = 1
    ctx.call_once("outside", lambda key: key)


def flow(job: Any, ctx: Any) -> None:
    ctx.step("one", lambda: 1)
    ctx.wait_for(f"seen:{job.payload['event']}", 60)
    ctx.sleep("a while", 3600)


def fails(job: Any, ctx: Any) -> None:
    if job.attempt == 1:
        raise ValueError("again")
    raise PermanentError("no")


def app(url: str) -> App:
    source = Source("shop", hmac_sha256("X-Sign", secret="SHOP_WEBHOOK_SECRET"), header("X-Id"))
    source.route(routes)
    handlers = [
        Handler("effects", effects, limit_name="narrow", limit_size=2),
        Handler("flow", flow),
        Handler("fails", fails),
        Handler("hangs", lambda job, ctx: ctx.connection.execute("select pg_sleep(30)"), timeout=0.2),
        Handler("out", lambda job, ctx: None, via="sqs"),
        Handler("more", lambda job, ctx: None),
    ]
    settings = {"DATABASE_URL": url, "SHOP_WEBHOOK_SECRET": "a-secret", "DRAIN_LINGER": "0"}
    return App(Settings(settings), handlers, [source], [])


def request(number: int, method: str = "POST", path: str = "/hooks/shop", secret: str = "a-secret") -> dict[str, Any]:
    body = json.dumps({"number": number})
    signature = hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()
    headers = {"X-Sign": signature, "X-Id": str(number)}
    return {"httpMethod": method, "path": path, "headers": headers, "body": body}


def run_everything(url: str, connection: Connection) -> None:
    one = app(url)
    stored = one.intake.handle(request(1), None)
    assert stored["statusCode"] == 202
    assert one.intake.handle(request(1), None)["statusCode"] == 202
    assert one.intake.handle(request(2, secret="another"), None)["statusCode"] == 401
    assert one.intake.handle(request(1, "GET", stored["headers"]["Location"]), None)["statusCode"] == 200
    assert one.intake.handle(request(1, "GET", "/health"), None)["statusCode"] == 200
    delivery = Delivery("0" * 32, "shop", "3", {}, b"x" * 900_000, datetime.now(UTC), "c")
    records = [{"messageId": str(number), "body": text} for number, text in enumerate(park.texts(delivery))]
    assert one.absorb.handle({"Records": records}, None) == {"batchItemFailures": []}
    for _ in range(3):
        one.drain.handle(None, None)
        connection.execute("update jobs set run_at = now() where status = 'pending' and sent_at is null")
    [(job,)] = connection.execute("select id from jobs where sent_at is not null order by id limit 1").fetchall()
    assert one.consume.handle({"Records": [{"messageId": "m", "body": json.dumps({"job": job})}]}, None)
    connection.execute("update jobs set locked_until = now() - interval '1 s' where status = 'running'")
    one.relay.handle(None, None)
    assert one.tick.run(None, None)["failed"] == []
    event = json.loads(stored["body"])["id"]
    commands: list[dict[str, Any]] = [
        {"command": "failed"},
        {"command": "stats"},
        {"command": "show", "event": event},
        {"command": "show", "job": job},
        {"command": "replay", "event": event},
        {"command": "replay", "source": "shop", "since": "2026-01-01"},
        {"command": "retry", "kind": "fails"},
        {"command": "cancel", "job": job},
        {"command": "pause", "limit": "narrow"},
        {"command": "resume", "limit": "narrow"},
    ]
    for command in commands:
        assert "ok" in one.operator.run(command)
    one.database.close()
