"""The operator's page on this machine: what a CloudWatch dashboard does with the console function, at /console.

Whoever can call it can change things, so it answers this machine only: to a browser that was sent here by name (a page from
elsewhere whose name was pointed here has that name in Host), through no proxy (a tunnel that brings webhooks in), and to
calls with the token that stands in the page, which no other page can read.
"""

from __future__ import annotations

import getpass
import hmac
import ipaddress
import json
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from local.functions import Functions, InvokeError
from local.gateway import Answer, HttpRequest

CONSOLE = "/console"
_HOSTS = ("localhost", "127.0.0.1", "[::1]")
_PROXIED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


class ConsolePage:
    """Answers what comes to /console. `function` is the name of the console function."""

    def __init__(self, functions: Functions, function: str = "console") -> None:
        self._functions = functions
        self._function = function
        self._token = secrets.token_urlsafe(32)
        self._frame = Path(__file__).with_suffix(".html").read_text("utf-8")

    def answer(self, request: HttpRequest, port: int) -> Answer:
        """`port` is the one that was called."""
        headers = _by_name(request.headers)
        if (reason := _refusal(headers, request.source_ip, port)) is not None:
            return _text(403, reason)
        if request.method == "GET":
            return self._page()
        if request.method != "POST":
            return _text(405, "GET shows the page, and its buttons POST")
        # A form of another page can send no such header, and a script of one is not allowed to.
        if not hmac.compare_digest(headers.get("x-console-token", "").encode(), self._token.encode()):
            return _text(403, "this page belongs to an earlier local run: reload it")
        return self._call(request.body)

    def _page(self) -> Answer:
        nonce = secrets.token_urlsafe(16)
        text = self._frame.replace("{nonce}", nonce).replace("{token}", self._token)
        # The views bring styles of their own, and nothing else that would act.
        rules = f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; connect-src 'self'"
        policy = f"{rules}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        return _answer(200, "text/html; charset=utf-8", text, ("Content-Security-Policy", policy))

    def _call(self, body: bytes) -> Answer:
        try:
            given = json.loads(body)
            event, forms = dict(given["event"]), dict(given["forms"])
        except (ValueError, TypeError, KeyError):
            return _text(400, 'the body must be {"event": {...}, "forms": {"all": {...}}}')
        context = {"widgetContext": {"forms": forms, "params": {"by": _user()}}}
        try:
            html: Any = self._functions.invoke(self._function, {**event, **context})
        except InvokeError as error:
            return _text(502, f"the console function failed: {error}")
        return _answer(200, "text/html; charset=utf-8", str(html))


def _refusal(headers: Mapping[str, str], client: str, port: int) -> str | None:
    """Why this request is not answered, None where it is."""
    if not ipaddress.ip_address(client).is_loopback:
        return "the page answers this machine only"
    allowed = {f"{host}:{port}" for host in _HOSTS}
    if headers.get("host", "").lower() not in allowed:
        return f"the page is called by one of {', '.join(sorted(allowed))} only"
    if any(name in headers for name in _PROXIED):
        return "the page answers nobody who comes through a proxy"
    if (origin := headers.get("origin")) is not None and origin not in {f"http://{host}" for host in allowed}:
        return "the page answers no other page"
    return None


def _by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by their name in lower case, repeated ones joined: then they are no host, token or origin of ours."""
    found: dict[str, str] = {}
    for name, value in pairs:
        found[name.lower()] = ", ".join(filter(None, [found.get(name.lower()), value.strip()]))
    return found


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # nobody by that number here, as in a container
        return "console"


def _text(status: int, text: str) -> Answer:
    return _answer(status, "text/plain; charset=utf-8", text)


def _answer(status: int, content_type: str, text: str, *headers: tuple[str, str]) -> Answer:
    fixed = [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer")]
    return status, [("Content-Type", content_type), *fixed, *headers], text.encode()
