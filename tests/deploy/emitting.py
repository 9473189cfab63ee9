"""A program: the functions themselves, taken through what metrics tell of. What they write to stdout is what AWS gets.

It runs as a process of its own, since a namespace of metrics is a process's.
"""

from __future__ import annotations

import hashlib
import hmac
import importlib
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import psycopg
from tidemill import Event, Job, NewJob, PermanentError, Source, every, handler
from tidemill.verify import header, hmac_sha256

SECRET = "shop-secret-of-the-metrics"

shop = Source("shop", hmac_sha256("X-Signature", secret="SHOP_WEBHOOK_SECRET"), header("X-Delivery"))


@shop.route
def route(event: Event) -> Iterator[NewJob]:
    yield NewJob(event.json["kind"])


@handler("good")
def good(job: Job, ctx: object) -> None: ...


@handler("bad")
def bad(job: Job, ctx: object) -> None:
    raise ConnectionError("it is away")


@handler("hopeless")
def hopeless(job: Job, ctx: object) -> None:
    raise PermanentError("never")


@every(minutes=1)
@handler("beat")
def beat(job: Job, ctx: object) -> None: ...


class Queue(BaseHTTPRequestHandler):
    """Stands in for SQS: takes all."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"MessageId": "1"}')

    def log_message(self, *arguments: object) -> None: ...


def call(name: str, event: object = None) -> Any:
    return importlib.import_module(f"functions.{name}.app").handler(event, None)


def deliver(kind: str, delivery: str, secret: str = SECRET) -> int:
    body = json.dumps({"kind": kind} if kind else {})
    signature = hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()
    headers = {"x-signature": signature, "x-delivery": delivery, "x-correlation-id": "one-story"}
    event = {"rawPath": "/hooks/shop", "headers": headers, "body": body, "requestContext": {"http": {"method": "POST"}}}
    return int(call("intake", event)["statusCode"])


def main() -> None:
    os.environ |= {"AUTOMATIONS": "tests.deploy.emitting", "SHOP_WEBHOOK_SECRET": SECRET, "DRAIN_LINGER": "0"}
    for number, kind in enumerate(("good", "bad", "hopeless", "")):
        assert deliver(kind, str(number)) == 202
    assert deliver("good", "0") == 202
    assert deliver("good", "4", secret="another") == 401
    call("schedule")
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute("update schedules set first_seen = first_seen - interval '10 minutes'")
    call("schedule")
    call("drain")
    with HTTPServer(("127.0.0.1", 0), Queue) as queue:
        threading.Thread(target=queue.serve_forever, daemon=True).start()
        os.environ |= {"INTAKE": "park", "PARKING_QUEUE_URL": f"http://127.0.0.1:{queue.server_port}/1/parking"}
        assert deliver("good", "5") == 202
        queue.shutdown()


if __name__ == "__main__":
    main()
