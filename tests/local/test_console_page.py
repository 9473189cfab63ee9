"""The operator's page on this machine: who is let in, and what is passed on. A tiny function stands for the console."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from local import gateway
from local.page import CONSOLE, ConsolePage, _refusal
from local.server import Server
from tests.local.conftest import Tiny

ECHO = """
    import json
    def handler(event, context):
        if event.get("fail"):
            raise ValueError("it fails")
        return "<p>" + json.dumps(event)
    """

MakeTiny = Callable[..., Tiny]


@contextmanager
def served(tiny: MakeTiny) -> Iterator[Server]:
    page = ConsolePage(tiny(ECHO).functions, "tiny")
    with gateway.serve(0, (), page._functions, {CONSOLE: page.answer}) as server:
        yield server


def ask(server: Server, method: str = "GET", body: object = None, **headers: str) -> tuple[int, dict[str, str], str]:
    """Status, headers and body; `Host` is the server's own unless given."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    text = body if isinstance(body, str) or body is None else json.dumps(body)
    connection.request(method, CONSOLE, text, {"Host": f"localhost:{server.port}", **named})
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read().decode()
    connection.close()
    return found


def token_of(server: Server) -> str:
    found = re.search(r'"X-Console-Token": "([^"]+)"', ask(server)[2])
    assert found
    return found[1]


def call(server: Server, event: dict[str, Any], **headers: str) -> tuple[int, dict[str, str], str]:
    body = {"event": event, "forms": {"all": {"text": "7"}}}
    return ask(server, "POST", body, X_Console_Token=token_of(server), **headers)


def test_the_page_is_a_frame_that_runs_its_own_script_only(tiny: MakeTiny) -> None:
    with served(tiny) as server:
        status, headers, text = ask(server)
    policy = headers["Content-Security-Policy"]
    nonce = re.search(r"'nonce-([^']+)'", policy)
    assert status == 200 and nonce and f'<script nonce="{nonce[1]}">' in text
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe-eval" not in policy
    assert headers["Cache-Control"] == "no-store" and "{" + "token}" not in text


def test_a_call_reaches_the_function_as_a_dashboard_makes_it(tiny: MakeTiny) -> None:
    with served(tiny) as server:
        status, _, text = call(server, {"view": "failed", "widgetContext": {"params": {"by": "somebody else"}}})
    event = json.loads(text.removeprefix("<p>"))
    assert status == 200 and event["view"] == "failed"
    assert event["widgetContext"]["forms"] == {"all": {"text": "7"}}
    assert event["widgetContext"]["params"]["by"] not in ("", "somebody else")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost", "localhost:1", "127.0.0.1.evil.example:{port}", ""]
)
def test_a_name_that_was_pointed_here_is_refused(tiny: MakeTiny, host: str) -> None:
    """DNS rebinding: the browser then holds the other page for this one, and would let it read the token."""
    with served(tiny) as server:
        status, _, text = ask(server, Host=host.format(port=server.port))
        assert (status, "X-Console-Token" in text) == (403, False)
        assert call(server, {}, Host=host.format(port=server.port))[0] == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
def test_this_machine_is_let_in_by_each_of_its_names(tiny: MakeTiny, host: str) -> None:
    with served(tiny) as server:
        assert ask(server, Host=f"{host}:{server.port}")[0] == 200


@pytest.mark.parametrize("header", ["X_Forwarded_For", "X_Forwarded_Host", "Forwarded", "Via", "X_Real_IP"])
def test_who_comes_through_a_tunnel_is_refused(tiny: MakeTiny, header: str) -> None:
    """Such as one that brings webhooks to a laptop, and calls it by the name of localhost."""
    with served(tiny) as server:
        assert ask(server, **{header: "203.0.113.7"})[0] == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost", "https://localhost:{port}"])
def test_another_page_is_refused_even_with_the_token(tiny: MakeTiny, origin: str) -> None:
    with served(tiny) as server:
        assert call(server, {}, Origin=origin.format(port=server.port))[0] == 403


def test_its_own_page_is_let_in(tiny: MakeTiny) -> None:
    with served(tiny) as server:
        assert call(server, {}, Origin=f"http://localhost:{server.port}")[0] == 200


@pytest.mark.parametrize("token", [None, "", "x", "\u00e9"])
def test_a_call_without_the_token_is_refused(tiny: MakeTiny, token: str | None) -> None:
    with served(tiny) as server:
        headers = {} if token is None else {"X_Console_Token": token.encode().decode("latin-1")}
        assert ask(server, "POST", {"event": {}, "forms": {}}, **headers)[0] == 403


def test_another_run_has_another_token(tiny: MakeTiny) -> None:
    functions = tiny(ECHO).functions
    assert ConsolePage(functions)._token != ConsolePage(functions)._token


@pytest.mark.parametrize("client", ["10.0.0.1", "203.0.113.7", "fe80::1", "::ffff:10.0.0.1"])
def test_another_machine_is_refused_whatever_it_says(client: str) -> None:
    headers = {"host": "localhost:8000"}
    assert _refusal(headers, client, 8000) == "the page answers this machine only"
    assert _refusal(headers, "127.0.0.1", 8000) is None


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD"])
def test_nothing_else_is_answered(tiny: MakeTiny, method: str) -> None:
    with served(tiny) as server:
        assert ask(server, method)[0] == 405


@pytest.mark.parametrize("body", ["", "x", "[]", "{}", '{"event": 5, "forms": {}}', '{"event": {}}', "\x00"])
def test_a_malformed_call_is_answered(tiny: MakeTiny, body: str) -> None:
    with served(tiny) as server:
        assert ask(server, "POST", body, X_Console_Token=token_of(server))[0] == 400


def test_a_function_that_fails_is_told_as_text(tiny: MakeTiny) -> None:
    with served(tiny) as server:
        status, headers, text = call(server, {"fail": True})
    assert status == 502 and headers["Content-Type"].startswith("text/plain") and "it fails" in text
