"""Automations for the tests of `tidemill send` and `tidemill sources`: senders of each sort, and the intake on a port."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tidemill import Accepted, Source, senders
from tidemill.model import Request

from functions.intake.app import handler
from local.gateway import serve
from local.sandbox import Answer
from local.server import Server
from local.template import Route

stripe = senders.stripe()
square = senders.square()
telegram = senders.telegram("bot", secret="BOT_WEBHOOK_SECRET")
yookassa = senders.yookassa()


def _own(request: Request, settings: Mapping[str, str], now: float) -> Accepted:
    return Accepted()


own = Source("own", verify=_own)


class _Intake:
    """Invoked by the gateway as a function is."""

    def invoke(self, event: bytes, patience: float) -> Answer:
        return Answer(json.dumps(handler(json.loads(event), None)).encode(), failed=False)


def listen() -> Server:
    """The real intake function behind the gateway of the local run, with the environment that the test has by then."""
    routes = (Route("ANY", "/hooks/{source}", "intake"), Route("GET", "/events/{ticket}", "intake"))
    functions: Any = {"intake": _Intake()}
    return serve(0, routes, functions)
