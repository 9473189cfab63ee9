"""Senders whose signature stands in the body: Mailgun and T-Bank."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

from tidemill import Request

from tests.senders.corpus import NOW, OTHER, SECRET, SEEN, Case, Sender, another
from tests.senders.corpus_around import OTHER_DIGITS

Json = Any

mailgun = Sender("mailgun")
tbank = Sender("tbank")


def posted(document: Json) -> Request:
    body = document if isinstance(document, bytes) else json.dumps(document, ensure_ascii=False).encode()
    return Request("POST", f"{SEEN}/hooks/x", [("Content-Type", "application/json")], body)


def secrets(sender: Sender, sent: Request, foreign: Request, spoiled: tuple[str, ...] = ()) -> Iterator[Case]:
    right, other = sender.secrets
    for setting in (f"{other},{right}", f" {right} , {other}\n"):
        yield Case(sender, f"several secrets {setting[:9]!r}", sent, True, setting, (other, right))
        yield Case(sender, f"several secrets {setting[:9]!r}, the other", foreign, True, setting, (other, right))
    yield Case(sender, "secret of somebody else", foreign)
    for unset in (None, "", " ", ",", *spoiled):
        yield Case(sender, f"secret {unset!r}", sent, False, unset, ())


def mailgun_body(timestamp: str = str(int(NOW)), secret: str = SECRET, token: str = "ae2f" * 12 + "7b") -> Json:
    digest = hmac.digest(secret.encode(), f"{timestamp}{token}".encode(), "sha256").hex()
    return {
        "signature": {"timestamp": timestamp, "token": token, "signature": digest},
        "event-data": {"event": "opened", "id": "Ase7i2zsRYeDXztHGENqRA", "recipient": "zoë@example.test"},
    }


def mailgun_cases() -> Iterator[Case]:
    good = mailgun_body()
    digest = good["signature"]["signature"]
    yield Case(mailgun, "genuine", posted(good), genuine=True)
    unsigned = posted(good | {"event-data": {}})
    yield Case(mailgun, "genuine, its other data changed, which is not signed", unsigned, genuine=True)
    for shift in (-300, -1, 1, 300):
        yield Case(mailgun, f"time {shift:+}", posted(mailgun_body(str(int(NOW) + shift))), genuine=True)
    for shift in (-int(NOW), -31_536_000, -301, 301, 31_536_000):
        yield Case(mailgun, f"time {shift:+}", posted(mailgun_body(str(int(NOW) + shift))))
    time = str(int(NOW))
    for odd in ("", "yesterday", f"+{time}", f"{time}.0", f"{time}e0", "1_800_000_000", time.translate(OTHER_DIGITS), "NaN"):
        yield Case(mailgun, f"time {odd!r}", posted(mailgun_body(odd)))
    for name, field, value in (
        ("timestamp", "timestamp", str(int(NOW) + 1)),
        ("token", "token", "ae2f" * 12 + "7c"),
        ("signature", "signature", another(digest, 3)),
        ("signature cut", "signature", digest[:-1]),
        ("signature empty", "signature", ""),
        ("signature not ASCII", "signature", "é" * 64),
        ("signature null", "signature", None),
        ("signature a list", "signature", [digest]),
        ("token null", "token", None),
        ("token empty", "token", ""),
        ("token a list", "token", []),
        ("timestamp null", "timestamp", None),
        ("timestamp true", "timestamp", True),
        ("timestamp an object", "timestamp", {}),
    ):
        yield Case(mailgun, f"changed: {name}", posted(good | {"signature": good["signature"] | {field: value}}))
    for name, document in (
        ("no signature", {"event-data": {}}),
        ("signature null", {"signature": None}),
        ("signature a text", {"signature": digest}),
        ("no object", [good]),
        ("empty", b""),
        ("not JSON", b"signature=1"),
        ("deep", b"[" * 9_000),
    ):
        yield Case(mailgun, f"body: {name}", posted(document))
    yield from secrets(mailgun, posted(good), posted(mailgun_body(secret=OTHER)))
    yield Case(mailgun, "empty secret, signed with none", posted(mailgun_body(secret="")), False, "", ())


TBANK = {
    "TerminalKey": "1510572937960",
    "OrderId": "test2",
    "Success": True,
    "Status": "CONFIRMED",
    "PaymentId": 2006896,
    "ErrorCode": "0",
    "Amount": 102120,
    "CardId": 867911,
    "Pan": "430000**0777",
    "ExpDate": "1122",
}


def tbank_body(secret: str = SECRET, **changes: Json) -> Json:
    document = TBANK | changes
    scalars = {name: value for name, value in document.items() if not isinstance(value, (dict, list))} | {"Password": secret}
    texts = (str(value).lower() if isinstance(value, bool) else str(value) for _, value in sorted(scalars.items()))
    return document | {"Token": hashlib.sha256("".join(texts).encode()).hexdigest()}


def tbank_cases() -> Iterator[Case]:
    good = tbank_body()
    genuine = (
        good,
        dict(reversed(good.items())),
        tbank_body(Success=False, Status="REJECTED"),
        tbank_body(OrderId="заказ-№1 👍"),
        tbank_body(Data={"Phone": "+7", "Nested": [1]}, Receipt={"Items": []}, List=[1, 2]),
        good | {"Data": {"added": "and not signed"}},
    )
    for number, document in enumerate(genuine):
        yield Case(tbank, f"genuine {number}", posted(document), genuine=True)
    for field, value in (
        ("Amount", 1),
        ("Amount", "102121"),
        ("Success", False),
        ("Status", "REFUNDED"),
        ("PaymentId", 2006897),
        ("OrderId", "test3"),
        ("Extra", "1"),
        ("Token", another(good["Token"], 4)),
        ("Token", good["Token"][:-1]),
        ("Token", ""),
        ("Token", None),
        ("Token", "é" * 64),
        ("Token", 5),
        ("Token", [good["Token"]]),
        ("Token", hashlib.sha256(b"").hexdigest()),
    ):
        yield Case(tbank, f"changed: {field} to {value!r}", posted(good | {field: value}))
    yield Case(tbank, "no Token", posted({name: value for name, value in good.items() if name != "Token"}))
    yield Case(tbank, "a field gone", posted({name: value for name, value in good.items() if name != "Pan"}))
    yield Case(tbank, "its password sent along", posted(good | {"Password": OTHER}))
    yield Case(tbank, "its password among the fields", posted(tbank_body(OTHER) | {"Password": OTHER}))
    for body in (b"", b"TerminalKey=1&Token=x", b"[]", b'"Token"', b"null", b"{}", b"\xff", b"[" * 9_000):
        yield Case(tbank, f"body: {body[:20]!r}", posted(body))
    yield from secrets(tbank, posted(good), posted(tbank_body(OTHER)))
    yield Case(tbank, "empty secret, signed with none", posted(tbank_body("")), False, "", ())


def cases() -> Iterator[Case]:
    yield from mailgun_cases()
    yield from tbank_cases()
