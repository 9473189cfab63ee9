"""Requests to AWS, signed here in a few lines and not by boto3: importing that costs half a second of full processor, on a
small function several times as much, and the sender of a delivery would wait for it. The tests hold the signatures against
botocore's.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import time
from collections.abc import Callable, Mapping
from urllib.parse import quote, urlsplit

TIMEOUT = 2.0  # seconds
TOKEN_SECONDS = 900  # that a database token is good for: as long as RDS takes one

Environ = Mapping[str, str]


class Client:
    """One service at one address, over a connection that is kept.

    `environ` is the function's: the credentials that Lambda puts there; `now` tells epoch seconds.
    """

    def __init__(self, service: str, url: str, region: str, environ: Environ, now: Callable[[], float] = time.time) -> None:
        self._service = service
        self._endpoint = urlsplit(url)
        self._region = region
        self._environ = environ
        self._now = now
        self._connection: http.client.HTTPConnection | None = None

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """The status and the body of the answer; whatever the status is. Raises OSError and http.client.HTTPException,
        within a few times TIMEOUT."""
        host = self._endpoint.netloc
        sent = signed(self._service, host, path, body, headers, self._region, self._environ, self._now())
        fresh = self._connection is None
        if self._connection is None:
            kind = http.client.HTTPConnection if self._endpoint.scheme == "http" else http.client.HTTPSConnection
            self._connection = kind(host, timeout=TIMEOUT)
        try:
            self._connection.request("POST", path, body, sent)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            if fresh:
                raise
            return self.post(path, body, headers)  # the kept connection had died while the container slept

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def signed(
    service: str, host: str, path: str, body: bytes, headers: Mapping[str, str], region: str, environ: Environ, now: float
) -> dict[str, str]:
    """The headers of a POST, signed with Signature Version 4; `headers` are its own, in lower case.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
    """
    stamp = _stamp(now)
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    headers = {**headers, "host": host, "x-amz-date": stamp}
    if token := environ.get("AWS_SESSION_TOKEN"):
        headers["x-amz-security-token"] = token
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    # Outside of S3 each segment of the path is encoded once more.
    request = f"POST\n{quote(path)}\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    signature = _signature(request, stamp, scope, environ)
    credential = f"{environ.get('AWS_ACCESS_KEY_ID', '')}/{scope}"
    headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"
    return headers


def database_token(host: str, port: int | str, user: str, region: str, environ: Environ, now: float) -> str:
    """The password with which an IAM database user connects in the next 15 minutes: a signed address without its scheme.

    https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/UsingWithRDS.IAMDBAuth.Connecting.html
    """
    stamp = _stamp(now)
    scope = f"{stamp[:8]}/{region}/rds-db/aws4_request"
    parameters = {
        "Action": "connect",
        "DBUser": user,
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"{environ.get('AWS_ACCESS_KEY_ID', '')}/{scope}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(TOKEN_SECONDS),
        "X-Amz-SignedHeaders": "host",
    }
    if token := environ.get("AWS_SESSION_TOKEN"):
        parameters["X-Amz-Security-Token"] = token
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in sorted(parameters.items()))
    request = f"GET\n/\n{query}\nhost:{host}:{port}\n\nhost\n{hashlib.sha256(b'').hexdigest()}"
    return f"{host}:{port}/?{query}&X-Amz-Signature={_signature(request, stamp, scope, environ)}"


def _stamp(now: float) -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))


def _signature(request: str, stamp: str, scope: str, environ: Environ) -> str:
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = f"AWS4{environ.get('AWS_SECRET_ACCESS_KEY', '')}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
