"""A small server that speaks the part of Lambda's API that the CLI uses, and runs the real replay function behind it."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from typing import Any
from urllib.parse import unquote

from functions.replay.app import handler
from local.server import Handler, Server

FUNCTION = "prod-replay"


class Lambda:
    """`commands` are those that arrived, in order. `throttle` answers so many of the next with 429; `break_with` makes the
    function fail with this text; `variables` are the function's environment as its configuration shows it."""

    def __init__(self) -> None:
        self.commands: list[dict[str, Any]] = []
        self.throttle = 0
        self.break_with: str | None = None
        self.variables: dict[str, str] = {}
        fake = self

        class Api(Handler):
            def respond(self) -> None:
                body = self.read_body(1 << 20) or b"null"
                if not unquote(self.path).startswith(f"/2015-03-31/functions/{FUNCTION}/"):
                    self._refuse(404, "ResourceNotFoundException", "Function not found")
                elif self.path.endswith("/configuration"):
                    self.answer_json(200, json.dumps({"Environment": {"Variables": fake.variables}}))
                elif fake.throttle:
                    fake.throttle -= 1
                    self._refuse(429, "TooManyRequestsException", "Rate Exceeded.")
                else:
                    fake.commands.append(json.loads(body))
                    self._invoke(fake.commands[-1])

            def _invoke(self, command: dict[str, Any]) -> None:
                if fake.break_with is None:
                    with redirect_stdout(io.StringIO()):  # its log is not in the output of who invokes it
                        answer = handler(command, None)
                    self.answer_json(200, json.dumps(answer))
                else:
                    failure = {"errorType": "Error", "errorMessage": fake.break_with}
                    self.answer_json(200, json.dumps(failure), ("X-Amz-Function-Error", "Unhandled"))

            def _refuse(self, status: int, kind: str, text: str) -> None:
                self.answer_json(status, json.dumps({"Message": text}), ("X-Amzn-ErrorType", kind))

        self.server = Server(Api)
