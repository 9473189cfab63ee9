"""Requests that nobody would send who means well, and among them genuine ones, so that both are seen side by side."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.functions.intake.odd import LARGEST, ODD_PATHS, bodies, junk, odd_texts
from tests.functions.intake.sources import SECRETS

Event = dict[str, Any]
Pairs = list[tuple[str, str]]

HMACS = {"shop": "SHOP_WEBHOOK_SECRET", "other": "SHOP_WEBHOOK_SECRET", "plain": "PLAIN_WEBHOOK_SECRET"}
SOURCES = (*HMACS, "bot")


class Sent(NamedTuple):
    """`events` are what the function gets: one request in both payload formats, or one event. `statuses` are what it may
    answer. `body` is what was signed; `exact` says that the events hold it."""

    events: list[object]
    body: bytes
    statuses: frozenset[int]
    exact: bool = True


TAKEN = frozenset({202})
REFUSED = frozenset({401, 413})
UNDECODABLE = frozenset({400, 413})
ANY = frozenset({200, 202, 400, 401, 404, 405, 413})  # 200 for GET /health alone


def signature(source: str, body: bytes) -> tuple[str, str]:
    """The header that makes a request of a source genuine."""
    if source == "bot":
        return "X-Bot-Token", SECRETS["BOT_WEBHOOK_SECRET"]
    return "X-Shop-Signature", hmac.new(SECRETS[HMACS[source]].encode(), body, hashlib.sha256).hexdigest()


@st.composite
def cased(draw: st.DrawFn, name: str) -> str:
    return draw(st.sampled_from([name, name.lower(), name.upper(), name.swapcase()]))


@st.composite
def headers(draw: st.DrawFn) -> Pairs:
    """Headers that are none of those that decide."""
    names = st.one_of(
        st.sampled_from(
            ["Content-Type", "Content-Encoding", "X-Correlation-Id", "traceparent", "Cookie", "Authorization", "Host"]
        ),
        odd_texts.map(lambda text: f"x-odd-{text}"),
    )
    values = st.one_of(
        odd_texts,
        st.sampled_from(["application/json", "gzip", "GZIP", "deflate", "br", "identity", "gzip, gzip", *SECRETS.values()]),
    )
    pairs: Pairs = draw(st.lists(st.tuples(names, values), max_size=6))
    return pairs


@st.composite
def spoiled(draw: st.DrawFn, source: str, body: bytes) -> Pairs:
    """A header that is near to what would let the request in, or several of them."""
    name, right = signature(source, body)
    wrong = st.one_of(
        odd_texts,
        st.sampled_from(
            [
                right[:-1],
                right + "0",
                right[::-1],
                f"sha256={right}",
                f"{right},{'0' * 64}",
                f" {right[:10]}",
                right.encode().hex(),
            ]
        ),
        st.sampled_from([signature(source, body + b" ")[1] + ("x" if source == "bot" else "")]),
        st.sampled_from([hmac.new(key, body, hashlib.sha256).hexdigest() for key in (b"", b" ", b"***", b"another")]),
    )
    values = draw(st.lists(wrong.filter(lambda value: value.strip(" ,\t\n\r\x0b\x0c") != right), max_size=3))
    return [(draw(cased(name)), value) for value in [*values, *([right] if draw(st.booleans()) and len({*values}) else [])]]


def format_1(path: str, query: str, method: str, pairs: Pairs) -> Event:
    several: dict[str, list[str]] = {}
    for name, value in pairs:
        several.setdefault(name, []).append(value)
    return {
        "path": path,
        "httpMethod": method,
        "headers": {name: values[-1] for name, values in several.items()},
        "multiValueHeaders": several,
        "queryStringParameters": {"q": query} if query else None,
        "requestContext": {"stage": "prod", "identity": {"sourceIp": "192.0.2.1"}},
    }


def format_2(path: str, query: str, method: str, pairs: Pairs) -> Event:
    joined: dict[str, str] = {}
    for name, value in pairs:
        name = name.lower()
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": query,
        "headers": joined,
        "requestContext": {"stage": "$default", "http": {"method": method, "path": path, "sourceIp": "192.0.2.1"}},
    }


def in_both(path: str, query: str, method: str, pairs: Pairs, body: Event) -> list[object]:
    return [{**make(path, query, method, pairs), **body} for make in (format_1, format_2)]


@st.composite
def in_event(draw: st.DrawFn, body: bytes) -> Event:
    """The fields of an event that hold exactly this body."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = None
    if text is not None and draw(st.booleans()):
        return {
            "body": text or draw(st.sampled_from([None, ""])),
            "isBase64Encoded": draw(st.sampled_from([False, None, "true", 1, "false"])),
        }
    return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}


@st.composite
def genuine(draw: st.DrawFn) -> Sent:
    source, body = draw(st.sampled_from(SOURCES)), draw(bodies().filter(lambda body: len(body) <= LARGEST))
    name, right = signature(source, body)
    pairs = [*draw(headers()), (draw(cased(name)), right)]
    if key := draw(st.text("abcdef0123456789-", max_size=12)):
        pairs.append((draw(cased("X-Shop-Delivery")), key))
    return Sent(in_both(f"/hooks/{source}", draw(odd_texts), "POST", pairs, draw(in_event(body))), body, TAKEN)


@st.composite
def forged(draw: st.DrawFn) -> Sent:
    """As a genuine one, but for the one header that would make it one."""
    source, body = draw(st.sampled_from(SOURCES)), draw(bodies())
    pairs = [*draw(headers()), *draw(spoiled(source, body))]
    return Sent(in_both(f"/hooks/{source}", draw(odd_texts), "POST", pairs, draw(in_event(body))), body, REFUSED)


@st.composite
def miscoded(draw: st.DrawFn) -> Sent:
    """As a genuine one, but for something in its base64 that a lenient decoder would pass over."""
    sent = draw(genuine())
    text = base64.b64encode(sent.body).decode()
    at = draw(st.integers(0, len(text)))
    body = {"body": text[:at] + draw(st.sampled_from("! \n-_\0é\ud800")) + text[at:], "isBase64Encoded": True}
    return Sent([{**event, **body} for event in sent.events], sent.body, UNDECODABLE)  # type: ignore[dict-item]


@st.composite
def misdirected(draw: st.DrawFn) -> Sent:
    """Signed, perhaps, but with another method, to another address, or too large."""
    source, body = draw(st.sampled_from(SOURCES)), draw(bodies())
    anywhere = odd_texts.flatmap(lambda text: st.sampled_from([text, f"/hooks/{text}", f"/events/{text}", f"/{text}/shop"]))
    path = draw(st.one_of(st.just(f"/hooks/{source}"), st.sampled_from(ODD_PATHS), anywhere))
    method = draw(st.one_of(st.sampled_from(["GET", "PUT", "HEAD", "OPTIONS", "DELETE", "get", "post", ""]), odd_texts))
    pairs = [*draw(headers()), signature(source, body)]
    return Sent(in_both(path, draw(odd_texts), method, pairs, draw(in_event(body))), body, ANY)


@st.composite
def broken(draw: st.DrawFn) -> Sent:
    """An event of which some fields are junk, or which is junk as a whole."""
    if draw(st.integers(0, 9)) == 0:
        return Sent([draw(junk)], b"", ANY)
    sent = draw(st.one_of(genuine(), forged()))
    event: Event = dict(draw(st.sampled_from(sent.events)))  # type: ignore[call-overload]
    for name in draw(st.lists(st.sampled_from([*event, "body", "rawPath", "path", "httpMethod"]), min_size=1, max_size=3)):
        if draw(st.booleans()):
            event.pop(name, None)
        else:
            event[name] = draw(st.one_of(junk, st.dictionaries(odd_texts, junk, max_size=3)))
    return Sent([event], sent.body, ANY, exact=False)


requests: st.SearchStrategy[Sent] = st.one_of(genuine(), forged(), miscoded(), misdirected(), broken())
