"""Signed deliveries as API Gateway hands them over, in both of its formats."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
from typing import Any

SECRET = "bench"
_numbers = itertools.count(1)


def signed(body: bytes) -> dict[str, str]:
    """The headers of a delivery with an id of its own."""
    signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return {"content-type": "application/json", "x-signature": signature, "x-delivery": f"d{next(_numbers)}"}


def format_2(body: bytes) -> dict[str, Any]:
    http = {"method": "POST", "path": "/hooks/bench", "protocol": "HTTP/1.1", "sourceIp": "203.0.113.7"}
    return {
        "version": "2.0",
        "rawPath": "/hooks/bench",
        "rawQueryString": "",
        "headers": signed(body),
        "pathParameters": {"source": "bench"},
        "requestContext": {"http": http, "domainName": "example.com", "stage": "$default", "requestId": "bench"},
        "body": body.decode(),
        "isBase64Encoded": False,
    }


def format_1(body: bytes) -> dict[str, Any]:
    headers = signed(body)
    identity = {"sourceIp": "203.0.113.7"}
    return {
        "resource": "/hooks/{source}",
        "path": "/hooks/bench",
        "httpMethod": "POST",
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": {"source": "bench"},
        "requestContext": {"identity": identity, "domainName": "example.com", "stage": "prod", "requestId": "bench"},
        "body": body.decode(),
        "isBase64Encoded": False,
    }


def body(number: int = 0, jobs: int = 2, kind: str = "bench.nothing", size: int = 200) -> bytes:
    return json.dumps({"number": number, "jobs": jobs, "kind": kind, "x": "a" * size}).encode()
