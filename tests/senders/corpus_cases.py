"""The cases of a Scheme: genuine, and with one thing off, class by class; here the bodies and the signatures of them."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from tidemill import Request

from tests.senders import corpus_around
from tests.senders.corpus import Case, Parts, Scheme, another, base64_text, same_bytes


def cases(scheme: Scheme) -> list[Case]:
    makers = (_genuine, _bodies, _signatures, _spellings, *corpus_around.MAKERS)
    return list(chain.from_iterable(maker(scheme, scheme.parts(scheme.bodies[0])) for maker in makers))


def _genuine(scheme: Scheme, parts: Parts) -> Iterator[Case]:
    for number, body in enumerate(scheme.bodies):
        sent = scheme.send(scheme.parts(body))
        yield Case(scheme, f"genuine {number}", sent, genuine=True)
        for name, changed in _changes(sent.body):
            yield Case(scheme, f"genuine {number}, and then {name}", replace(sent, body=changed))
    if scheme.raw:
        yield Case(scheme, "raw bytes", scheme.send(replace(parts, body=parts.body + b"\xff\xfe")), genuine=True)


def _changes(body: bytes) -> Iterator[tuple[str, bytes]]:
    yield "a space after it", body + b" "
    yield "a line end after it", body + b"\n"
    yield "a byte order mark before it", b"\xef\xbb\xbf" + body
    if body:
        yield "its first byte gone", body[1:]
        yield "its last byte changed", body[:-1] + bytes([body[-1] ^ 1])
        middle = len(body) // 2
        yield "a bit in its middle changed", body[:middle] + bytes([body[middle] ^ 4]) + body[middle + 1 :]
        yield "nothing of it left", b""


def _bodies(scheme: Scheme, parts: Parts) -> Iterator[Case]:
    sent = scheme.send(parts)
    for name, body in (
        ("of another delivery", b'{"id":"evt_other"}'),
        ("white space of its JSON changed", sent.body.replace(b'":', b'": ')),
        ("twice", sent.body * 2),
        ("in capitals", sent.body.upper()),
    ):
        yield Case(scheme, f"body {name}", replace(sent, body=body))


def _signatures(scheme: Scheme, parts: Parts) -> Iterator[Case]:
    sig = scheme.encode(scheme.digest(replace(parts, body=scheme.send(parts).body)))
    other = scheme.send(replace(parts, body=b"other")).body
    for name, forged in (
        ("empty", ""),
        ("cut by one", sig[:-1]),
        ("cut in half", sig[: len(sig) // 2]),
        ("cut at its beginning", sig[1:]),
        ("longer by one", sig + "0"),
        ("twice over", sig + sig),
        ("changed at its beginning", another(sig, 0)),
        ("changed in its middle", another(sig, len(sig) // 2)),
        ("changed at its end", another(sig, len(sig.rstrip("=")) - 1)),
        ("all zeros", scheme.encode(bytes(len(scheme.digest(parts))))),
        ("of another body", scheme.encode(scheme.digest(replace(parts, body=other)))),
        ("with a space in it", f"{sig[:9]} {sig[9:]}"),
        ("not ASCII", "é" + sig[1:]),
        ("in digits of another script", "٣" * len(sig)),
        ("with a surrogate", "\udc80" + sig),
        ("a word", "null"),
        ("in quotes", f'"{sig}"'),
        ("in base64 with its letters turned round" if scheme.encode is base64_text else "in capitals", sig.swapcase()),
    ):
        yield Case(scheme, f"signature {name}", scheme.send(parts, forged), genuine=name == "in capitals")
    unkeyed = scheme.encode(hashlib.sha256(parts.body).digest())
    yield Case(scheme, "signature without a key, a hash of the body", scheme.send(parts, unkeyed))


def _spellings(scheme: Scheme, parts: Parts) -> Iterator[Case]:
    digest = scheme.digest(replace(parts, body=scheme.send(parts).body))
    sig = scheme.encode(digest)
    wrong = base64_text(digest) if sig == digest.hex() else digest.hex()
    yield Case(scheme, "signature in the other encoding", scheme.send(parts, wrong))
    algorithms = {"md5", "sha1", "sha256", "sha512"} - {scheme.algorithm} if scheme.mac is hmac.digest else ()
    for algorithm in sorted(algorithms):
        forged = scheme.encode(scheme.digest(replace(parts, body=scheme.send(parts).body), algorithm))
        yield Case(scheme, f"signature by {algorithm}", scheme.send(parts, forged))
    if sig != digest.hex():
        yield Case(scheme, "signature without its padding", scheme.send(parts, sig.rstrip("=")))
        yield Case(scheme, "signature in another spelling of its bytes", scheme.send(parts, same_bytes(sig)))
        yield Case(scheme, "signature with junk in it", scheme.send(parts, f"{sig[:8]}!*{sig[8:]}"))
        yield Case(scheme, "signature in base64 for addresses", _url_safe(scheme, parts))
    prefix = scheme.form.partition("{sig}")[0]
    if prefix and "{" not in prefix:
        for name, form in (("missing", "{sig}"), ("twice", prefix + scheme.form), ("in capitals", prefix.upper() + "{sig}")):
            yield Case(scheme, f"prefix {name}", scheme.send(parts, form=form))


def _url_safe(scheme: Scheme, parts: Parts) -> Request:
    """A request whose signature reads otherwise in base64 for addresses: it has a + or a /."""
    for number in range(1000):
        body = parts.body + b" " * number
        digest = scheme.digest(replace(parts, body=scheme.send(replace(parts, body=body)).body))
        if set(base64_text(digest)) & set("+/"):
            return scheme.send(replace(parts, body=body), base64.urlsafe_b64encode(digest).decode())
    raise AssertionError("no signature of a thousand has a + or a /")
