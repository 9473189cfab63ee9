"""API Gateway's events become Requests."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from tidemill import gateway
from tidemill.gateway import Undecodable, body_size, headers_of, method_of, path_of, request_of

V2: dict[str, Any] = {
    "version": "2.0",
    "routeKey": "POST /hooks/{source}",
    "rawPath": "/hooks/shop",
    "rawQueryString": "a=1&b=%20",
    "headers": {"x-id": "7", "x-two": "a,b"},
    "requestContext": {
        "domainName": "abc.execute-api.eu-central-1.amazonaws.com",
        "stage": "$default",
        "http": {"method": "POST", "path": "/hooks/shop", "sourceIp": "192.0.2.1"},
    },
    "body": "hi",
    "isBase64Encoded": False,
}
V1: dict[str, Any] = {
    "resource": "/hooks/{source}",
    "path": "/hooks/shop",
    "httpMethod": "POST",
    "headers": {"X-Id": "7", "X-Two": "b"},
    "multiValueHeaders": {"X-Id": ["7"], "X-Two": ["a", "b"]},
    "queryStringParameters": {"a": "1", "b": " "},
    "multiValueQueryStringParameters": {"a": ["1", "2"], "b": [" "]},
    "requestContext": {
        "domainName": "abc.execute-api.eu-central-1.amazonaws.com",
        "stage": "prod",
        "identity": {"sourceIp": "192.0.2.1"},
    },
    "body": "hi",
    "isBase64Encoded": False,
}


def test_format_2_becomes_a_request() -> None:
    request = request_of(V2)
    assert request.method == "POST"
    assert request.url == "https://abc.execute-api.eu-central-1.amazonaws.com/hooks/shop?a=1&b=%20"
    assert request.headers == [("x-id", "7"), ("x-two", "a,b")]
    assert (request.body, request.source_ip) == (b"hi", "192.0.2.1")


def test_format_1_becomes_a_request_with_every_value_of_a_header() -> None:
    request = request_of(V1)
    assert request.method == "POST"
    assert request.url == "https://abc.execute-api.eu-central-1.amazonaws.com/prod/hooks/shop?a=1&a=2&b=+"
    assert request.headers == [("X-Id", "7"), ("X-Two", "a"), ("X-Two", "b")]
    assert (request.body, request.source_ip) == (b"hi", "192.0.2.1")


@pytest.mark.parametrize(("event", "query"), [(V1, "?a=1&a=2&b=+"), (V2, "?a=1&b=%20")])
@pytest.mark.parametrize("base", ["https://hooks.example.test/in", "https://hooks.example.test/in/"])
def test_the_public_address_stands_in_for_the_gateways_own(event: dict[str, Any], query: str, base: str) -> None:
    assert request_of(event, base).url == f"https://hooks.example.test/in/hooks/shop{query}"


@pytest.mark.parametrize(
    ("raw", "path"),
    [("/prod/hooks/shop", "/hooks/shop"), ("/production/x", "/production/x"), ("/hooks/shop", "/hooks/shop")],
)
def test_the_stage_is_no_part_of_the_path_in_format_2(raw: str, path: str) -> None:
    event = {**V2, "rawPath": raw, "requestContext": {**V2["requestContext"], "stage": "prod"}}
    assert path_of(event) == path


def test_a_header_that_stands_in_one_map_only_is_found() -> None:
    event = {"headers": {"X-One": "1", "X-Id": "last"}, "multiValueHeaders": {"x-id": ["first", "last"], "X-Null": None}}
    assert headers_of(event) == [("x-id", "first"), ("x-id", "last"), ("X-One", "1")]


def test_a_null_value_is_no_header() -> None:
    assert headers_of({"headers": {"X-Id": None}}) == []


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        "text",
        {},
        {"key1": "value1", "key2": "value2", "key3": "value3"},
        {"body": None, "headers": None, "multiValueHeaders": None, "requestContext": None},
        {"headers": [], "requestContext": {"http": None, "identity": None}, "queryStringParameters": None},
    ],
)
def test_an_event_that_is_no_http_request_is_an_empty_one(event: object) -> None:
    """B10."""
    request = request_of(event)
    assert (request.method, request.headers, request.body, request.source_ip) == ("", [], b"", "")
    assert (path_of(event), method_of(event), body_size(event)) == ("", "", 0)


def test_base64_gives_the_bytes_that_were_sent() -> None:
    """B09."""
    sent = b"\xef\xbb\xbf\xff\x00 bytes"
    event = {**V2, "body": base64.b64encode(sent).decode(), "isBase64Encoded": True}
    assert request_of(event).body == sent


def test_text_is_utf8_whatever_is_in_it() -> None:
    assert request_of({**V2, "body": "é👍"}).body == "é👍".encode()
    assert request_of({**V2, "body": "\ud800"}).body == b"\xed\xa0\x80"


@pytest.mark.parametrize("body", ["aGk=!", "aGk", "aG k=", "aGk=\n", "é", "=", "aGk=aGk="])
def test_junk_in_base64_is_told_and_not_skipped(body: str) -> None:
    """B09."""
    with pytest.raises(Undecodable, match="not valid base64"):
        request_of({**V2, "body": body, "isBase64Encoded": True})


@pytest.mark.parametrize("body", [{"a": 1}, 5, ["a"], True])
def test_a_body_that_is_no_text_is_told(body: object) -> None:
    with pytest.raises(Undecodable, match="the body must be text, not"):
        request_of({**V2, "body": body})


@pytest.mark.parametrize("size", range(9))
def test_the_size_is_that_of_the_decoded_body(size: int) -> None:
    sent = b"\xff" * size
    assert body_size({"body": base64.b64encode(sent).decode(), "isBase64Encoded": True}) == size
    assert body_size({"body": "é" * size}) == 2 * size


def test_an_answer_serves_both_formats() -> None:
    assert gateway.answer(202, {"id": 1}, {"Location": "/events/1-a"}) == {
        "statusCode": 202,
        "headers": {"content-type": "application/json", "Location": "/events/1-a"},
        "body": '{"id":1}',
        "isBase64Encoded": False,
    }
    assert gateway.text_answer(200, "text/plain", "hi")["headers"] == {"content-type": "text/plain"}
