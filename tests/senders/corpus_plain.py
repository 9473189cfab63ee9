"""The senders that sign nothing: they send the secret itself, or are known by their network."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace

from tidemill import Request

from tests.senders.corpus import OTHER, SECRET, SEEN, Case, Sender

gitlab_token = Sender("gitlab_token")
telegram = Sender("telegram")
postmark = Sender("postmark", secrets=("hook:correct-horse-7", "hook:wrong-horse-8"))
msgraph = Sender("msgraph")


def yookassa_official(request: Request, secret: str, now: float) -> bool:
    from yookassa.domain.common import SecurityHelper

    return bool(SecurityHelper().is_ip_trusted(request.source_ip))


yookassa = Sender("yookassa", parameter="", official=yookassa_official)


TRUSTED = """
185.71.76.0 185.71.76.31 185.71.77.0 185.71.77.31 77.75.153.0 77.75.153.127 77.75.156.11 77.75.156.35 77.75.154.128
77.75.154.255 2a02:5180:0:1509::1 2a02:5180:0:2655:ffff:: 2a02:5180:0:1533:: 2a02:5180:0:2669:ffff:ffff:ffff:ffff
2A02:5180:0000:1509:0000::1
"""
OTHERS = """
185.71.76.32 185.71.75.255 185.71.77.32 77.75.153.128 77.75.152.255 77.75.156.10 77.75.156.12 77.75.156.34 77.75.154.127
77.75.155.0 2a02:5180:0:1508:ffff:: 2a02:5180:0:150a:: 2a02:5180:1:1509::1 127.0.0.1 ::1 0.0.0.0 10.0.0.7 nobody é
185.71.76.1:443 185.71.76.1,1.2.3.4 185.71.76 185.71.76.0/27 1853312000 [2a02:5180:0:1509::1] 2a02:5180:0:1509::1/64
"""


def posted(body: bytes, *headers: tuple[str, str], source_ip: str = "") -> Request:
    return Request("POST", f"{SEEN}/hooks/x", [("Content-Type", "application/json"), *headers], body, source_ip)


def header_cases(sender: Sender, header: str) -> Iterator[Case]:
    bodies = (b'{"update_id":17,"object_kind":"push"}', '{"text":"Grüße 🌍"}'.encode(), b"\xff\xfe", b"", b"not json")
    for number, body in enumerate(bodies):
        yield Case(sender, f"genuine {number}", posted(body, (header, SECRET)), genuine=True)
    sent = posted(bodies[0], (header, SECRET))
    for name in (header.lower(), header.upper()):
        yield Case(sender, f"header {name}", posted(bodies[0], (name, SECRET)), genuine=True)
    yield Case(sender, "the secret twice", posted(bodies[0], (header, SECRET), (header.lower(), SECRET)), genuine=True)
    for name, value in (
        ("empty", ""),
        ("of somebody else", OTHER),
        ("cut by one", SECRET[:-1]),
        ("longer by one", SECRET + "7"),
        ("in capitals", SECRET.upper()),
        ("not ASCII", "é" + SECRET),
        ("with a surrogate", "\udc80"),
        ("behind Bearer", f"Bearer {SECRET}"),
        ("in quotes", f'"{SECRET}"'),
        ("in base64", base64.b64encode(SECRET.encode()).decode()),
    ):
        yield Case(sender, f"token {name}", posted(bodies[0], (header, value)))
    for name, values in (("good, bad", (SECRET, OTHER)), ("bad, good", (OTHER, SECRET))):
        yield Case(sender, f"two tokens: {name}", posted(bodies[0], *((header, value) for value in values)))
        yield Case(sender, f"two tokens, joined: {name}", posted(bodies[0], (header, ",".join(values))))
    yield Case(sender, "no token", posted(bodies[0]))
    yield Case(sender, "token in another header", posted(bodies[0], ("Authorization", SECRET), (f"X-{header}", SECRET)))
    yield Case(sender, "token in the address", replace(posted(bodies[0]), url=f"{SEEN}/hooks/x?{header}={SECRET}"))
    yield Case(sender, "secret not ASCII", posted(bodies[0], (header, "schlüssel")), True, "schlüssel")
    yield from _secrets(sender, sent, posted(bodies[0], (header, OTHER)))
    yield Case(sender, "empty secret and empty token", posted(bodies[0], (header, "")), False, "")
    yield Case(sender, "a space for a secret", posted(bodies[0], (header, " ")), False, " ")
    yield Case(sender, "a comma for a secret", posted(bodies[0], (header, ",")), False, ",")


def _secrets(sender: Sender, sent: Request, foreign: Request) -> Iterator[Case]:
    right, other = sender.secrets
    for setting in (f"{other},{right}", f"{right}, {other}\n", f"{right},, ,{other}"):
        yield Case(sender, f"secrets {setting!r}", sent, True, setting)
        yield Case(sender, f"secrets {setting!r}, the other", foreign, True, setting)
    yield Case(sender, "secret of somebody else", foreign)
    for setting in (None, "", " ", ","):
        yield Case(sender, f"secret {setting!r}", sent, False, setting)


def basic(credentials: str | bytes) -> str:
    data = credentials if isinstance(credentials, bytes) else credentials.encode()
    return "Basic " + base64.b64encode(data).decode()


def postmark_cases() -> Iterator[Case]:
    right, other = postmark.secrets
    body = b'{"RecordType":"Bounce","MessageID":"883953f4-6105-42a2-a16a-77a8eac79483"}'
    for number, content in enumerate((body, '{"Subject":"Grüße 🌍"}'.encode(), b"", b"\xff")):
        yield Case(postmark, f"genuine {number}", posted(content, ("Authorization", basic(right))), genuine=True)
    for name, header in (("lower", "authorization"), ("upper", "AUTHORIZATION")):
        yield Case(postmark, f"header in {name} case", posted(body, (header, basic(right))), genuine=True)
    scheme = ("Authorization", basic(right).replace("Basic", "basic"))
    yield Case(postmark, "scheme in lower case, which RFC 9110 allows", posted(body, scheme), genuine=True)
    for name, value in (
        ("empty", ""),
        ("nothing behind Basic", "Basic "),
        ("of somebody else", basic(other)),
        ("the user alone", basic("hook:")),
        ("the password alone", basic(":correct-horse-7")),
        ("another user", basic("hooks:correct-horse-7")),
        ("without a colon", basic("hookcorrect-horse-7")),
        ("a space after it", basic(right + " ")),
        ("a line end after it", basic(right + "\n")),
        ("not in base64", f"Basic {right}"),
        ("without its padding", basic(right).rstrip("=")),
        ("with junk in it", basic(right)[:10] + "*" + basic(right)[10:]),
        ("Bearer", basic(right).replace("Basic", "Bearer")),
        ("no scheme", basic(right).removeprefix("Basic ")),
        ("not ASCII", "Basic é"),
        ("bytes that are not UTF-8", basic(b"\xff\xfe")),
        ("joined with another", f"{basic(other)},{basic(right)}"),
    ):
        yield Case(postmark, f"credentials {name}", posted(body, ("Authorization", value)))
    for name, values in (("good, bad", (right, other)), ("bad, good", (other, right))):
        headers = (("Authorization", basic(value)) for value in values)
        yield Case(postmark, f"two credentials: {name}", posted(body, *headers))
    yield Case(postmark, "no credentials", posted(body))
    foreign = posted(body, ("Authorization", basic("hook:schlüssel")))
    yield Case(postmark, "user and password not ASCII", foreign, True, "hook:schlüssel")
    sent, foreign = (posted(body, ("Authorization", basic(secret))) for secret in (right, other))
    yield from _secrets(postmark, sent, foreign)
    yield Case(postmark, "empty secret and empty credentials", posted(body, ("Authorization", basic(""))), False, "")


def msgraph_cases() -> Iterator[Case]:
    def notice(*states: object) -> Request:
        items = [{"subscriptionId": "s1", "changeType": "updated", "clientState": state} for state in states]
        return posted(json.dumps({"value": items}).encode())

    for count in (1, 2, 50):
        yield Case(msgraph, f"genuine, {count}", notice(*[SECRET] * count), genuine=True)
    for name, states in (
        ("of somebody else", (OTHER,)),
        ("first of somebody else", (OTHER, SECRET)),
        ("last of somebody else", (SECRET, SECRET, OTHER)),
        ("empty", ("",)),
        ("null", (None,)),
        ("a number", (7,)),
        ("true", (True,)),
        ("a list", ([SECRET],)),
        ("an object", ({"a": SECRET},)),
        ("longer", (SECRET + "7",)),
        ("not ASCII", ("é",)),
        ("a surrogate", ("\ud800",)),
        ("missing in an empty batch", ()),
    ):
        yield Case(msgraph, f"state {name}", notice(*states))
    for name, body in (
        ("an item without one", b'{"value":[{"subscriptionId":"s1"}]}'),
        ("one of two items without one", json.dumps({"value": [{"clientState": SECRET}, {}]}).encode()),
        ("value an object", json.dumps({"value": {"clientState": SECRET}}).encode()),
        ("value null", b'{"value":null}'),
        ("value of texts", json.dumps({"value": [SECRET]}).encode()),
        ("state at the root", json.dumps({"clientState": SECRET}).encode()),
        ("empty", b""),
        ("not JSON", b"clientState=" + SECRET.encode()),
        ("not UTF-8", b'{"value":[{"clientState":"\xff"}]}'),
        ("deep", b"[" * 9_000),
    ):
        yield Case(msgraph, f"body: {name}", posted(body))
    addressed = replace(posted(b'{"value":[]}'), url=f"{SEEN}/hooks/x?clientState={SECRET}")
    yield Case(msgraph, "state in the address", addressed)
    yield from _secrets(msgraph, notice(SECRET), notice(OTHER))
    yield Case(msgraph, "empty secret and empty state", notice(""), False, "")
    yield Case(msgraph, "no secret and no state", notice(None), False, None)


def yookassa_cases() -> Iterator[Case]:
    body = b'{"type":"notification","event":"payment.succeeded","object":{"id":"22e18a2f-000f-5000-a000-1db6312b7767"}}'
    for address in TRUSTED.split():
        yield Case(yookassa, f"from {address}", posted(body, source_ip=address), genuine=True)
    for address in (*OTHERS.split(), "", " ", "185.71.76.1\n"):
        yield Case(yookassa, f"from {address!r}", posted(body, source_ip=address))
    for header in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "CF-Connecting-IP", "True-Client-IP", "X-Client-IP"):
        forged = posted(body, (header, "185.71.76.1"), source_ip="203.0.113.9")
        yield Case(yookassa, f"{header} says so", forged)
        passed = posted(body, (header, "203.0.113.9"), source_ip="185.71.76.1")
        yield Case(yookassa, f"{header} says otherwise", passed, genuine=True)


def cases() -> Iterator[Case]:
    yield from header_cases(gitlab_token, "X-Gitlab-Token")
    yield from header_cases(telegram, "X-Telegram-Bot-Api-Secret-Token")
    yield from postmark_cases()
    yield from msgraph_cases()
    yield from yookassa_cases()
