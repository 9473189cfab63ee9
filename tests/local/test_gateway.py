"""HTTP requests as the events that API Gateway makes of them, and results as HTTP answers."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Callable
from typing import Any

import pytest

from local import gateway
from local.gateway import HttpRequest, make_event, match, read_answer
from local.template import Route
from tests.local.conftest import Tiny

POST = Route("POST", "/hooks/{source}", "intake")
ANY = Route("ANY", "/hooks/{source}", "intake")
HEALTH = Route("GET", "/health", "intake")


def event(headers: list[tuple[str, str]] = [], body: bytes = b"", query: str = "") -> dict[str, Any]:  # noqa: B006
    return make_event(POST, {"source": "shop"}, HttpRequest("POST", "/hooks/shop", query, headers, body, "10.0.0.1"))


def test_a_route_that_names_the_method_goes_before_any() -> None:
    assert match((ANY, POST), "POST", "/hooks/shop") == (POST, {"source": "shop"})
    assert match((ANY, POST), "PUT", "/hooks/shop") == (ANY, {"source": "shop"})


def test_a_parameter_is_one_decoded_segment() -> None:
    assert match((POST,), "POST", "/hooks/a%20b") == (POST, {"source": "a b"})
    assert match((POST,), "POST", "/hooks/a/b") is None
    assert match((POST,), "POST", "/hooks/") is None


def test_another_method_or_path_has_no_route() -> None:
    assert match((HEALTH,), "POST", "/health") is None
    assert match((HEALTH,), "GET", "/healthy") is None


def test_header_names_are_lower_case_and_repeated_headers_joined() -> None:
    headers = event([("X-Sig", "a"), ("x-SIG", "b"), ("Host", "example.org:8000")])["headers"]
    assert headers["x-sig"] == "a,b"
    assert headers["x-forwarded-for"] == "10.0.0.1"
    assert headers["x-forwarded-port"] == "8000"
    assert not [name for name in headers if name != name.lower()]


def test_cookies_stand_apart() -> None:
    made = event([("Cookie", "a=1; b=2")])
    assert made["cookies"] == ["a=1", "b=2"]
    assert "cookie" not in made["headers"]
    assert "cookies" not in event()


def test_the_query_stands_raw_and_parsed() -> None:
    made = event(query="a=1&a=2&b=%20")
    assert made["rawQueryString"] == "a=1&a=2&b=%20"
    assert made["queryStringParameters"] == {"a": "1,2", "b": " "}
    assert "queryStringParameters" not in event()


def test_the_request_is_described_as_format_two_does() -> None:
    made = event()
    assert (made["version"], made["routeKey"], made["rawPath"]) == ("2.0", "POST /hooks/{source}", "/hooks/shop")
    assert made["pathParameters"] == {"source": "shop"}
    assert made["requestContext"]["http"]["method"] == "POST"
    assert made["requestContext"]["http"]["sourceIp"] == "10.0.0.1"
    assert "body" not in made


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/json; charset=utf-8", "Application/XML"])
def test_text_travels_as_text(kind: str) -> None:
    made = event([("Content-Type", kind)], "né".encode())
    assert (made["body"], made["isBase64Encoded"]) == ("né", False)


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "image/png", "application/vnd.api+json", ""])
def test_any_other_body_travels_in_base64(kind: str) -> None:
    """B09"""
    made = event([("Content-Type", kind)] if kind else [], b"a=1")
    assert (made["body"], made["isBase64Encoded"]) == (base64.b64encode(b"a=1").decode(), True)


def test_text_that_is_not_utf8_travels_in_base64() -> None:
    """B11"""
    made = event([("Content-Type", "application/json")], b"\xff")
    assert (made["body"], made["isBase64Encoded"]) == ("/w==", True)


def test_a_result_with_a_status_code_is_the_answer() -> None:
    result = {"statusCode": 202, "headers": {"x-a": 1}, "cookies": ["c=1"], "body": "hé"}
    assert read_answer(json.dumps(result).encode()) == (202, [("x-a", "1"), ("Set-Cookie", "c=1")], "hé".encode())


def test_a_body_in_base64_is_decoded() -> None:
    result = {"statusCode": 200, "body": "/w==", "isBase64Encoded": True, "headers": None}
    assert read_answer(json.dumps(result).encode()) == (200, [], b"\xff")


def test_a_result_without_a_status_code_is_the_body() -> None:
    assert read_answer(b'{"a": 1}') == (200, [("Content-Type", "application/json")], b'{"a": 1}')
    assert read_answer(b'"text"') == (200, [("Content-Type", "application/json")], b"text")


ANSWER = """
def handler(event, context):
    if event["headers"].get("x-fail"):
        raise ValueError("secret details")
    return {"statusCode": 201, "body": event.get("body", ""), "isBase64Encoded": event["isBase64Encoded"]}
"""


def ask(url: str, method: str, path: str, body: Any = None, headers: dict[str, str] = {}) -> tuple[int, bytes]:  # noqa: B006
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
    try:
        connection.request(method, path, body, headers, encode_chunked="Transfer-Encoding" in headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_requests_on_the_port_reach_the_function(tiny: Callable[..., Tiny]) -> None:
    function = tiny(ANSWER)
    routes = (Route("POST", "/hooks/{source}", "tiny"), Route("ANY", "/hooks/{source}", "tiny"))
    with gateway.serve(0, routes, function.functions) as server:
        assert ask(server.url, "POST", "/hooks/shop", b"\x00\xff") == (201, b"\x00\xff")
        assert ask(server.url, "PROPFIND", "/hooks/shop") == (201, b"")
        chunked = {"Transfer-Encoding": "chunked"}
        assert ask(server.url, "POST", "/hooks/shop", iter([b"a" * 70_000, b"bc"]), chunked) == (201, b"a" * 70_000 + b"bc")
        assert ask(server.url, "GET", "/nothing") == (404, b'{"message": "Not Found"}')
        assert ask(server.url, "POST", "/hooks/shop", b"", {"X-Fail": "1"}) == (500, b'{"message": "Internal Server Error"}')


def test_a_body_that_is_too_large_or_malformed_is_refused_at_the_door(tiny: Callable[..., Tiny]) -> None:
    function = tiny(ANSWER)
    with gateway.serve(0, (Route("POST", "/", "tiny"),), function.functions) as server:
        assert ask(server.url, "POST", "/", b"", {"Content-Length": "10485761"})[0] == 413
        assert ask(server.url, "POST", "/", b"", {"Content-Length": "many"})[0] == 400
        assert ask(server.url, "POST", "/", b"", {"Content-Length": "-1"})[0] == 400
        assert function.running.processes() == []


def test_a_taken_port_is_an_error(tiny: Callable[..., Tiny]) -> None:
    function = tiny(ANSWER)
    with gateway.serve(0, (), function.functions) as server, pytest.raises(OSError, match="in use"):
        gateway.serve(server.port, (), function.functions)
