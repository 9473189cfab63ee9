"""Waking a drain: one signed request, best effort."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tidemill.telemetry import Log
from tidemill.wake import Wake

ENVIRON = {
    "AWS_REGION": "eu-south-1",
    "AWS_ACCESS_KEY_ID": "AKID",
    "AWS_SECRET_ACCESS_KEY": "s3cr3t",
    "AWS_SESSION_TOKEN": "to/ken",
}


class Lambda:
    """Answers invokes on a port, and keeps their paths and headers."""

    def __init__(self) -> None:
        self.status = 202
        self.invokes: list[tuple[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                outer.invokes.append((self.path, self.headers["X-Amz-Invocation-Type"]))
                self.send_response(outer.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def aws() -> Iterator[Lambda]:
    fake = Lambda()
    yield fake
    fake.server.shutdown()
    fake.server.server_close()


def wake(url: str, name: str = "drain") -> Wake:
    return Wake(name, {**ENVIRON, "AWS_ENDPOINT_URL_LAMBDA": url}, Log())


def test_a_wake_is_an_asynchronous_invoke(aws: Lambda) -> None:
    wake(aws.url, "stack-drain")(2)
    assert aws.invokes == [("/2015-03-31/functions/stack-drain/invocations", "Event")] * 2


def test_without_a_function_name_nothing_is_sent(aws: Lambda) -> None:
    wake(aws.url, "")()
    assert aws.invokes == []


def test_a_throttled_wake_is_said_and_changes_nothing(aws: Lambda, capsys: pytest.CaptureFixture[str]) -> None:
    """B27"""
    aws.status = 429
    wake(aws.url)()
    assert "Lambda answered 429" in capsys.readouterr().out


def test_an_unreachable_lambda_is_said_without_a_secret(capsys: pytest.CaptureFixture[str]) -> None:
    wake("http://127.0.0.1:1")()
    said = capsys.readouterr().out
    assert "no drain was woken" in said and "ConnectionRefusedError" in said
    assert not any(secret in said for secret in ("s3cr3t", "to/ken", "AKID"))


def test_a_kept_connection_that_died_is_made_anew(aws: Lambda) -> None:
    waking = wake(aws.url)
    waking()
    connection = waking._client._connection
    assert connection is not None and connection.sock is not None
    connection.sock.shutdown(2)
    waking()
    assert len(aws.invokes) == 2
