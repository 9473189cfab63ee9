"""Waking drains and the relay: an asynchronous invoke of the function. Best effort: one that is lost costs at most a minute,
since both also run by a schedule.

The one request is signed here, in a few lines, and not by boto3: importing that costs half a second of full processor, on a
small function several times as much, and the sender of the first delivery would wait for it. The tests hold the signature
against botocore's.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import time
from collections.abc import Callable, Mapping
from urllib.parse import quote, urlsplit

from tidemill.telemetry import Log

TIMEOUT = 2.0  # seconds


class Wake:
    """`wake()` asks for one invocation, `wake(3)` for three; it never raises. Without a function name it does nothing.

    `environ` is the function's: AWS_REGION, the credentials that Lambda puts there, and AWS_ENDPOINT_URL_LAMBDA where it is
    not AWS's own. `now` tells epoch seconds.
    """

    def __init__(
        self, function_name: str, environ: Mapping[str, str], log: Log, now: Callable[[], float] = time.time
    ) -> None:
        self._function_name = function_name
        self._environ = environ
        self._log = log
        self._now = now
        self._connection: http.client.HTTPConnection | None = None

    def __call__(self, count: int = 1) -> None:
        if not self._function_name:
            return
        try:
            for _ in range(count):
                self._invoke()
        except Exception as error:  # throttled, not allowed, no network: the work is stored, and the schedule wakes a drain
            self._connection = None
            self._log.warning("no drain was woken", error=type(error).__name__, reason=str(error)[:200])

    def _invoke(self) -> None:
        region = self._environ.get("AWS_REGION", "us-east-1")
        endpoint = urlsplit(self._environ.get("AWS_ENDPOINT_URL_LAMBDA") or f"https://lambda.{region}.amazonaws.com")
        path = f"/2015-03-31/functions/{quote(self._function_name, safe='')}/invocations"
        headers = signed(endpoint.netloc, path, b"{}", region, self._environ, self._now())
        status, reason = self._send(endpoint.scheme, endpoint.netloc, path, headers)
        if status != 202:
            raise ConnectionError(f"Lambda answered {status} {reason}")

    def _send(self, scheme: str, netloc: str, path: str, headers: Mapping[str, str]) -> tuple[int, str]:
        fresh = self._connection is None
        if self._connection is None:
            kind = http.client.HTTPConnection if scheme == "http" else http.client.HTTPSConnection
            self._connection = kind(netloc, timeout=TIMEOUT)
        try:
            self._connection.request("POST", path, b"{}", dict(headers))
            answer = self._connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            if fresh:
                raise
            return self._send(scheme, netloc, path, headers)  # the kept connection had died while the container slept
        return answer.status, answer.reason


def signed(host: str, path: str, body: bytes, region: str, environ: Mapping[str, str], now: float) -> dict[str, str]:
    """The headers of an asynchronous invoke, signed with Signature Version 4.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    scope = f"{stamp[:8]}/{region}/lambda/aws4_request"
    headers = {"host": host, "x-amz-date": stamp, "x-amz-invocation-type": "Event"}
    if token := environ.get("AWS_SESSION_TOKEN"):
        headers["x-amz-security-token"] = token
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    # Outside of S3 each segment of the path is encoded once more.
    request = f"POST\n{quote(path)}\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = f"AWS4{environ.get('AWS_SECRET_ACCESS_KEY', '')}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    credential = f"{environ.get('AWS_ACCESS_KEY_ID', '')}/{scope}"
    headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"
    return headers
