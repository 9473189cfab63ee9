"""API Gateway's events, in both payload formats, as Requests, and answers, in the one form that both formats take.

Format 1.0 (REST API) has `httpMethod`, `path` without the stage and `multiValueHeaders` in the sender's case; format 2.0
(HTTP API) has `requestContext.http`, `rawPath` with the stage and lower-case `headers`, repeated ones joined by a comma.
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from tidemill import jsontext
from tidemill.model import Request

Answer = dict[str, Any]


class Undecodable(ValueError):
    """The event's body is not the base64, or the text, that it should be."""


def method_of(event: object) -> str:
    """The method in capitals, '' where the event is no HTTP request."""
    return str(_http(event).get("method") or _mapping(event).get("httpMethod") or "").upper()


def path_of(event: object) -> str:
    """The path without the stage, '' where the event is no HTTP request."""
    fields = _mapping(event)
    if raw := fields.get("rawPath"):
        stage = _stage(event)
        return str(raw).removeprefix(stage) if f"{raw}/".startswith(f"{stage}/") else str(raw)
    return str(fields.get("path") or "")


def headers_of(event: object) -> list[tuple[str, str]]:
    """The headers as (name, value) pairs, one for each value; none for a null."""
    fields = _mapping(event)
    several = _mapping(fields.get("multiValueHeaders"))
    pairs = [(str(name), str(value)) for name, values in several.items() for value in _values(values)]
    known = {name.lower() for name, _ in pairs}
    single = _mapping(fields.get("headers"))
    return pairs + [(str(n), str(value)) for n, value in single.items() if value is not None and str(n).lower() not in known]


def source_ip_of(event: object) -> str:
    """The address of the transport, '' where the event names none."""
    return str(_http(event).get("sourceIp") or _mapping(_context(event).get("identity")).get("sourceIp") or "")


def body_size(event: object) -> int:
    """The size of the body in bytes, before it is decoded."""
    fields = _mapping(event)
    body = fields.get("body")
    if not isinstance(body, str):
        return 0
    if fields.get("isBase64Encoded") is True:
        return len(body) * 3 // 4 - body[-2:].count("=")
    return len(_utf8(body))


def request_of(event: object, public_url: str = "") -> Request:
    """The request. `public_url` is the address that senders call, where that is another than API Gateway's own: the path and
    the query are appended to it. Raises Undecodable."""
    base = public_url.rstrip("/") or f"https://{_context(event).get('domainName') or 'localhost'}{_stage(event)}"
    query = _query_of(event)
    return Request(
        method=method_of(event),
        url=f"{base}{path_of(event)}{'?' if query else ''}{query}",
        headers=headers_of(event),
        body=_body_of(event),
        source_ip=source_ip_of(event),
    )


def answer(status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
    """An answer in JSON."""
    return text_answer(status, "application/json", jsontext.dumps(body), headers)


def text_answer(status: int, content_type: str, body: str, headers: Mapping[str, str] | None = None) -> Answer:
    return {
        "statusCode": status,
        "headers": {"content-type": content_type, **(headers or {})},
        "body": body,
        "isBase64Encoded": False,
    }


def _body_of(event: object) -> bytes:
    fields = _mapping(event)
    body = fields.get("body")
    if body is None:
        return b""
    if not isinstance(body, str):
        raise Undecodable(f"the body must be text, not {type(body).__name__}")
    if fields.get("isBase64Encoded") is not True:
        return _utf8(body)
    try:
        return base64.b64decode(body, validate=True)
    except ValueError:
        raise Undecodable("the body is not valid base64") from None


def _query_of(event: object) -> str:
    fields = _mapping(event)
    if "rawQueryString" in fields:
        return str(fields["rawQueryString"] or "")
    several = _mapping(fields.get("multiValueQueryStringParameters")) or _mapping(fields.get("queryStringParameters"))
    pairs = [(name, value) for name, values in several.items() for value in _values(values)]
    return urlencode(pairs, encoding="utf-8", errors="surrogatepass")


def _stage(event: object) -> str:
    stage = _context(event).get("stage")
    return f"/{stage}" if stage and stage != "$default" else ""


def _http(event: object) -> Mapping[str, Any]:
    return _mapping(_context(event).get("http"))


def _context(event: object) -> Mapping[str, Any]:
    return _mapping(_mapping(event).get("requestContext"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _values(values: object) -> Iterable[Any]:
    return [value for value in (values if isinstance(values, list) else [values]) if value is not None]


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
