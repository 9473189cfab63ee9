"""The HTTP API on a real port: each request becomes the event that API Gateway makes of it (payload format 2.0).

https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
"""

from __future__ import annotations

import base64
import json
import re
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from local.functions import Functions
from local.server import Handler, Server
from local.template import Route

INTEGRATION_SECONDS = 30.0
LARGEST_BODY = 10 * 1024 * 1024

# Bodies of these types travel as text, all others in base64, forms and bodies without a type too. The documentation does
# not list the types; this is what was observed at AWS (ministackorg/ministack#766).
_TEXT = re.compile(r"text/.+|application/(json|xml|javascript)", re.IGNORECASE)

Answer = tuple[int, list[tuple[str, str]], bytes]


class HttpRequest(NamedTuple):
    """A request as it came: `path` and `query` still encoded, `headers` as pairs in order."""

    method: str
    path: str
    query: str
    headers: list[tuple[str, str]]
    body: bytes
    source_ip: str


Page = Callable[[HttpRequest, int], Answer]


def serve(port: int, routes: tuple[Route, ...], functions: Functions, pages: Mapping[str, Page] | None = None) -> Server:
    """Serve the routes, and `pages`, by their path, which are no part of the API: each is called with the request and the
    port. Raises OSError where the port is taken."""

    class Gateway(Handler):
        def respond(self) -> None:
            try:
                body = self.read_body(LARGEST_BODY)
            except ValueError:
                self.answer_json(400, '{"message":"Bad Request"}', close=True)
                return
            if body is None:
                self.answer_json(413, '{"message":"Request Entity Too Large"}', close=True)
                return
            self.answer(*self.response(body))

        def response(self, body: bytes) -> Answer:
            path, _, query = self.path.partition("?")
            request = HttpRequest(self.command, path, query, self.headers.items(), body, self.client_address[0])
            if (page := (pages or {}).get(path)) is not None:
                return page(request, self.connection.getsockname()[1])
            found = match(routes, self.command, path)
            if found is None:
                return _message(404, "Not Found")
            route, parameters = found
            event = make_event(route, parameters, request)
            answer = functions[route.function].invoke(json.dumps(event).encode(), INTEGRATION_SECONDS)
            if answer is None:
                return _message(503, "Service Unavailable")
            return _message(500, "Internal Server Error") if answer.failed else read_answer(answer.payload)

    return Server(Gateway, port)


def match(routes: tuple[Route, ...], method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """The route of a request and the parameters of its path, decoded; a route that names the method goes before ANY."""
    for route in sorted(routes, key=lambda route: route.method == "ANY"):
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(route.path))
        if route.method in (method, "ANY") and (found := re.fullmatch(pattern, path)):
            return route, {name: unquote(value) for name, value in found.groupdict().items()}
    return None


def make_event(route: Route, parameters: Mapping[str, str], request: HttpRequest) -> dict[str, Any]:
    """The event of a request: lower-case header names, repeated headers and parameters joined by commas, cookies apart."""
    joined = _joined((name.lower(), value.strip()) for name, value in request.headers)
    cookies = joined.pop("cookie", "")
    host = joined.get("host", "")
    port = host.rpartition(":")[2]
    joined |= {"x-forwarded-for": request.source_ip, "x-forwarded-proto": "http", "x-forwarded-port": port}
    route_key = f"{route.method} {route.path}"
    now = time.time()
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route_key,
        "rawPath": request.path,
        "rawQueryString": request.query,
        "headers": joined,
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "domainName": host,
            "domainPrefix": host.split(".")[0],
            "http": {
                "method": request.method,
                "path": request.path,
                "protocol": "HTTP/1.1",
                "sourceIp": request.source_ip,
                "userAgent": joined.get("user-agent", ""),
            },
            "requestId": uuid.uuid4().hex,
            "routeKey": route_key,
            "stage": "$default",
            "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
            "timeEpoch": int(now * 1000),
        },
        "isBase64Encoded": False,
    }
    if cookies:
        event["cookies"] = [cookie.strip() for cookie in cookies.split(";")]
    if request.query:
        event["queryStringParameters"] = _joined(parse_qsl(request.query, keep_blank_values=True))
    if parameters:
        event["pathParameters"] = dict(parameters)
    if request.body:
        event["body"], event["isBase64Encoded"] = _as_text(request.body, joined.get("content-type", ""))
    return event


def read_answer(payload: bytes) -> Answer:
    """The HTTP answer that a function's result stands for; one without a statusCode is the body of a 200."""
    result = json.loads(payload)
    if not isinstance(result, dict) or "statusCode" not in result:
        text = result if isinstance(result, str) else payload.decode()
        return 200, [("Content-Type", "application/json")], text.encode()
    headers = [(name, str(value)) for name, value in (result.get("headers") or {}).items()]
    headers += [("Set-Cookie", cookie) for cookie in result.get("cookies") or []]
    body = result.get("body") or ""
    return int(result["statusCode"]), headers, base64.b64decode(body) if result.get("isBase64Encoded") else body.encode()


def _as_text(body: bytes, content_type: str) -> tuple[str, bool]:
    if _TEXT.fullmatch(content_type.split(";")[0].strip()):
        try:
            return body.decode("utf-8"), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(body).decode(), True


def _joined(pairs: Any) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _message(status: int, text: str) -> Answer:
    return status, [("Content-Type", "application/json")], json.dumps({"message": text}).encode()
