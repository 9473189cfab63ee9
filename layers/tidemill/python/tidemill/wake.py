"""Waking drains and the relay: an asynchronous invoke of the function. Best effort: one that is lost costs at most a minute,
since both also run by a schedule.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from urllib.parse import quote

from tidemill.aws import Client
from tidemill.telemetry import Log


class Wake:
    """`wake()` asks for one invocation, `wake(3)` for three; it never raises. Without a function name it does nothing.

    `environ` is the function's: AWS_REGION, the credentials that Lambda puts there, and AWS_ENDPOINT_URL_LAMBDA where it is
    not AWS's own. `now` tells epoch seconds.
    """

    def __init__(
        self, function_name: str, environ: Mapping[str, str], log: Log, now: Callable[[], float] = time.time
    ) -> None:
        region = environ.get("AWS_REGION", "us-east-1")
        url = environ.get("AWS_ENDPOINT_URL_LAMBDA") or f"https://lambda.{region}.amazonaws.com"
        self._path = f"/2015-03-31/functions/{quote(function_name, safe='')}/invocations" if function_name else ""
        self._client = Client("lambda", url, region, environ, now)
        self._log = log

    def __call__(self, count: int = 1) -> None:
        if not self._path:
            return
        try:
            for _ in range(count):
                status, _answer = self._client.post(self._path, b"{}", {"x-amz-invocation-type": "Event"})
                if status != 202:
                    raise ConnectionError(f"Lambda answered {status}")
        except Exception as error:  # throttled, not allowed, no network: the work is stored, and the schedule wakes a drain
            self._client.close()
            self._log.warning("no drain was woken", error=type(error).__name__, reason=self._log.short(error, 200))
