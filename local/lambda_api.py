"""The part of the Lambda API that invokes functions, so that boto3 works here unchanged.

https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from local.functions import Running
from local.server import Handler, Server

_LARGEST_EVENT = {"Event": 1024 * 1024, "RequestResponse": 6 * 1024 * 1024}  # bytes
_PATIENCE = 60.0
_path = re.compile(r"/2015-03-31/functions/([^/]+)/invocations")


def serve(lookup: Callable[[str], Running]) -> Server:
    """Serve invocations of what `lookup` finds by name; it raises KeyError for a name that it does not know."""

    class LambdaApi(Handler):
        def respond(self) -> None:
            found = _path.fullmatch(unquote(urlsplit(self.path).path))
            how = self.headers.get("X-Amz-Invocation-Type", "RequestResponse")
            body = self.read_body(_LARGEST_EVENT.get(how, _LARGEST_EVENT["RequestResponse"]))
            if body is None:
                self.fail(413, "RequestTooLargeException", "the event is too large", close=True)
            elif found is None or how not in _LARGEST_EVENT:
                self.fail(400, "InvalidParameterValueException", "the local run only invokes, as Event or RequestResponse")
            elif not _is_json(body or b"{}"):
                self.fail(400, "InvalidRequestContentException", "the event is not JSON")
            else:
                self.invoke(found[1].split("function:")[-1].split(":")[0], how, body or b"{}")

        def invoke(self, name: str, how: str, event: bytes) -> None:
            try:
                running = lookup(name)
            except KeyError:
                self.fail(404, "ResourceNotFoundException", f"Function not found: {name}")
                return
            if how == "Event":
                running.invoke_later(event)
                self.answer(202, [])
                return
            answer = running.invoke(event, _PATIENCE)
            if answer is None:
                self.fail(429, "TooManyRequestsException", "Rate Exceeded.")
                return
            headers = [("Content-Type", "application/json"), ("X-Amz-Executed-Version", "$LATEST")]
            if answer.failed:
                headers.append(("X-Amz-Function-Error", "Unhandled"))
            self.answer(200, headers, answer.payload)

        def fail(self, status: int, kind: str, text: str, *, close: bool = False) -> None:
            body = json.dumps({"Type": "User", "Message": text})
            self.answer_json(status, body, ("X-Amzn-ErrorType", kind), close=close)

    return Server(LambdaApi)


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True
