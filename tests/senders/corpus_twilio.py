"""Twilio: the address and the form are signed; of a JSON body only the SHA-256 in the query."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

from tidemill import Request

from tests.senders import corpus_officials as official
from tests.senders.corpus import OTHER, PUBLIC, SECRET, SEEN, Case, Sender, another, base64_text, same_bytes

FORM_TYPE = ("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8")
JSON_TYPE = ("Content-Type", "application/json")
PATH = "/hooks/x?shop=a%20b&n=1"
PORTED = PUBLIC + ":443"

twilio = Sender(
    "twilio",
    official=official.twilio,
    differs={"two signatures: bad, good": "one value", "empty secret, signed with none": "no secret"},
)
FORMS: tuple[tuple[tuple[str, str], ...], ...] = (
    (("CallSid", "CA1"), ("Caller", "+14158675309"), ("Digits", "1234"), ("From", "+14158675309"), ("To", "+18005551212")),
    (("Body", "Grüße 🌍 & more = yes"), ("From", "+49151")),
    (("Body", ""), ("NumMedia", "0"), ("MessageStatus", "")),
    (("MediaUrl", "b"), ("MediaUrl", "a"), ("MediaUrl", "b"), ("A", "z")),
    (("a", "1"), ("A", "2"), ("aB", "3"), ("_", "4"), ("é", "5"), ("a b", "6 7")),
    (("Body", "line one\r\nline two\t%41 +"),),
    (("Amounts[0]", "1"), ("Amounts[1]", "2"), ("Json", '{"a":"b"}')),
    (("Body", "x" * 20_000),),
)
JSON_BODIES = (b'{"sid":"AC1","status":"ok"}', '{"text":"Grüße 🌍"}'.encode(), b"{}", b"[1, 2]")


def signed(address: str, body: bytes = b"", secret: str = SECRET) -> str:
    """The signature for an address and a form: of fields that repeat, each value once."""
    fields = sorted(set(parse_qsl(body.decode(), keep_blank_values=True)))
    text = address + "".join(name + value for name, value in fields)
    return base64_text(hmac.digest(secret.encode(), text.encode(), "sha1"))


def posted(body: bytes, signature: str, path: str = PATH, kind: tuple[str, str] = FORM_TYPE) -> Request:
    return Request("POST", SEEN + path, [kind, ("X-Twilio-Signature", signature)], body)


def with_hash(body: bytes) -> str:
    return f"{PATH}&bodySHA256={hashlib.sha256(body).hexdigest()}"


def cases() -> Iterator[Case]:
    for number, form in enumerate(FORMS):
        body = urlencode(form).encode()
        sent = posted(body, signed(PUBLIC + PATH, body))
        yield Case(twilio, f"form {number}", sent, genuine=True)
        yield Case(twilio, f"form {number}, port signed", posted(body, signed(PORTED + PATH, body)), genuine=True)
        yield Case(twilio, f"form {number}, fields in another order", replace(sent, body=_reversed(form)), genuine=True)
        yield Case(twilio, f"form {number}, other port signed", posted(body, signed(f"{PUBLIC}:8443{PATH}", body)))
        for name, changed in _tampered(form):
            yield Case(twilio, f"form {number}, {name}", replace(sent, body=urlencode(changed).encode()))
    for number, body in enumerate(JSON_BODIES):
        path = with_hash(body)
        sent = posted(body, signed(PUBLIC + path), path, JSON_TYPE)
        yield Case(twilio, f"JSON {number}", sent, genuine=True)
        ported = posted(body, signed(PORTED + path), path, JSON_TYPE)
        yield Case(twilio, f"JSON {number}, port signed", ported, genuine=True)
        for name, changed in (("longer", body + b" "), ("empty", b""), ("shorter", body[:-1]), ("another", b'{"sid":2}')):
            yield Case(twilio, f"JSON {number}, {name}", replace(sent, body=changed))
        without = posted(body, signed(PUBLIC + PATH), PATH, JSON_TYPE)
        yield Case(twilio, f"JSON {number} without its hash in the query", without)
        moved = posted(body, signed(PUBLIC + PATH), path, JSON_TYPE)
        yield Case(twilio, f"JSON {number}, its hash added after signing", moved)
    yield from _signatures()
    yield from _secrets()
    asked = Request("GET", SEEN + PATH, [("X-Twilio-Signature", signed(PUBLIC + PATH))], b"")
    yield Case(twilio, "GET with all in the query", asked, genuine=True)
    yield Case(twilio, "GET, a parameter added", replace(asked, url=asked.url + "&x=1"))
    yield Case(twilio, "GET, a form added", replace(asked, body=b"Body=1", headers=[FORM_TYPE, *asked.headers]))


def _reversed(form: tuple[tuple[str, str], ...]) -> bytes:
    return urlencode(form[::-1]).encode()


def _tampered(form: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    (name, value), *rest = form
    yield "a field gone", tuple(field for field in form if field[0] != name)
    yield "a field more", (*form, ("Extra", "1"))
    yield "an empty field more", (*form, ("Extra", ""))
    yield "a value changed", ((name, value + "0"), *rest)
    yield "a name changed", ((name + "X", value), *rest)
    yield "one name with two values", (*form, (name, value + "x"))


def _signatures() -> Iterator[Case]:
    body = urlencode(FORMS[0]).encode()
    good, bad = signed(PUBLIC + PATH, body), signed(PUBLIC + PATH, body, OTHER)
    for name, signature in (
        ("empty", ""),
        ("of somebody else", bad),
        ("cut by one", good[:-1]),
        ("without its padding", good.rstrip("=")),
        ("changed", another(good, 5)),
        ("in another spelling of its bytes", same_bytes(good)),
        ("not ASCII", "é" + good[1:]),
        ("of the address alone", signed(PUBLIC + PATH)),
        ("of the address as the function sees it", signed(SEEN + PATH, body)),
        ("of another path", signed(PUBLIC + "/hooks/y", body)),
        ("of the address with http", signed((PUBLIC + PATH).replace("https", "http"), body)),
        ("by sha256", base64_text(hmac.digest(SECRET.encode(), (PUBLIC + PATH).encode() + body, "sha256"))),
        ("of the raw form", base64_text(hmac.digest(SECRET.encode(), (PUBLIC + PATH).encode() + body, "sha1"))),
    ):
        yield Case(twilio, f"signature {name}", posted(body, signature))
    for name, headers in (
        ("no signature", [FORM_TYPE]),
        ("two signatures: bad, good", [FORM_TYPE, ("X-Twilio-Signature", bad), ("X-Twilio-Signature", good)]),
        ("two signatures: good, bad", [FORM_TYPE, ("X-Twilio-Signature", good), ("X-Twilio-Signature", bad)]),
        ("two signatures, joined", [FORM_TYPE, ("X-Twilio-Signature", f"{good},{bad}")]),
    ):
        yield Case(twilio, name, replace(posted(body, good), headers=headers))
    for name in ("x-twilio-signature", "X-TWILIO-SIGNATURE"):
        yield Case(twilio, f"header {name}", replace(posted(body, good), headers=[FORM_TYPE, (name, good)]), genuine=True)
    for path in ("/hooks/y?shop=a%20b&n=1", "/hooks/x", PATH + "&", "/hooks/x?n=1&shop=a%20b", "/hooks/x?shop=a+b&n=1"):
        yield Case(twilio, f"address {path}", posted(body, good, path))
    wrong_kind = posted(JSON_BODIES[0], good, PATH, JSON_TYPE)
    yield Case(twilio, "signature of a form, with a JSON body", wrong_kind)


def _secrets() -> Iterator[Case]:
    body = urlencode(FORMS[0]).encode()
    sent, other = posted(body, signed(PUBLIC + PATH, body)), posted(body, signed(PUBLIC + PATH, body, OTHER))
    yield Case(twilio, "several secrets", sent, True, f"{OTHER},{SECRET}", (OTHER, SECRET))
    yield Case(twilio, "several secrets, the other", other, True, f"{OTHER},{SECRET}", (OTHER, SECRET))
    yield Case(twilio, "secret with a line end", sent, True, SECRET + "\n")
    for setting in (None, "", " ", ","):
        yield Case(twilio, f"secret {setting!r}", sent, False, setting, ())
    keyless = posted(body, signed(PUBLIC + PATH, body, ""))
    yield Case(twilio, "empty secret, signed with none", keyless, False, "", ("",))
    yield Case(twilio, "blank among secrets, signed with none", keyless, False, f"{SECRET},,")
