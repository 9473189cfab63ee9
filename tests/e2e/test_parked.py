"""The database goes away behind the whole machine; senders see nothing of it."""

from __future__ import annotations

import hashlib
import hmac
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
import requests
from moto.server import ThreadedMotoServer

from local.postgres import Postgres
from local.stack import Stack


@pytest.fixture
def queue() -> Iterator[str]:
    """The URL of a queue at moto's server."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    client = boto3.client(
        "sqs", "us-east-1", endpoint_url=f"http://{host}:{port}", aws_access_key_id="a", aws_secret_access_key="b"
    )
    url = client.create_queue(QueueName="parked", Attributes={"VisibilityTimeout": "1"})["QueueUrl"]
    yield url
    client.delete_queue(QueueUrl=url)
    server.stop()


def post(stack: Stack, number: int) -> requests.Response:
    body = json.dumps({"name": f"visitor {number}", "message": "x" * (900_000 if number == 3 else 1)}).encode()
    secret = stack.settings["SITE_WEBHOOK_SECRET"].encode()
    headers = {"X-Signature": hmac.new(secret, body, hashlib.sha256).hexdigest(), "Content-Type": "application/json"}
    return requests.post(f"{stack.url}/hooks/site", data=body, headers=headers, timeout=30)


def test_events_that_came_while_the_database_was_away_are_worked_off(tmp_path: Path, queue: str) -> None:
    with tempfile.TemporaryDirectory(prefix="tidemill-test-") as folder, Postgres(Path(folder) / "data") as postgres:
        environ = {"DATABASE_URL": postgres.url(), "PARKING_QUEUE_URL": queue}
        with Stack(environ, folder=tmp_path) as stack:
            assert post(stack, 0).json()["jobs"] == 1
            postgres.stop()
            answers = [post(stack, number) for number in range(1, 6)]
            assert [(one.status_code, one.json()) for one in answers] == [(202, {"parked": True})] * 5
            stack.wait_for("not absorbed yet", "absorb")
            postgres.resume()
            until = time.monotonic() + 60
            for one in answers:
                place = f"{stack.url}{one.headers['Location']}"
                while (found := requests.get(place, timeout=10)).status_code != 200 or not done(found):
                    assert time.monotonic() < until, found.text
                    time.sleep(0.1)


def done(status: requests.Response) -> bool:
    return [job["status"] for job in status.json()["jobs"]] == ["done"]
