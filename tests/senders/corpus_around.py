"""The cases of a Scheme around what is signed: headers, secrets, times, addresses."""

from __future__ import annotations

import string
from collections.abc import Iterator
from dataclasses import replace

from tidemill import Request

from tests.senders.corpus import NOW, Case, Parts, Scheme, another

NON_ASCII = "schlüssel-7"
OTHER_DIGITS = {ord(digit): ord("\uff10") + int(digit) for digit in string.digits}


def headers(scheme: Scheme, parts: Parts) -> Iterator[Case]:
    sent = scheme.send(parts)
    for name, change in (("lower", str.lower), ("upper", str.upper), ("title", str.title)):
        headers = [(change(key), value) for key, value in sent.headers]
        yield Case(scheme, f"header names in {name} case", replace(sent, headers=headers), genuine=True)
    yield Case(scheme, "headers in another order", replace(sent, headers=sent.headers[::-1]), genuine=True)
    yield Case(scheme, "no signature header", replace(sent, headers=_without(sent, scheme.header)))
    yield Case(scheme, "no header at all", replace(sent, headers=[]))
    misnamed = [*_without(sent, scheme.header), (f"Other-{scheme.header}", sent.headers[-1][1])]
    yield Case(scheme, "signature in another header", replace(sent, headers=misnamed))
    underscored = [(key.replace("-", "_"), value) for key, value in sent.headers]
    yield Case(scheme, "header names with underscores", replace(sent, headers=underscored))


def _without(request: Request, header: str) -> list[tuple[str, str]]:
    return [(key, value) for key, value in request.headers if key.lower() != header.lower()]


def repeated(scheme: Scheme, parts: Parts) -> Iterator[Case]:
    """B20: two values of a header that must be single, as format 1.0 of the gateway has them and as 2.0 joins them."""
    sent = scheme.send(parts)
    good, bad = sent.headers[-1][1], scheme.send(replace(parts, secret=scheme.secrets[1])).headers[-1][1]
    rest = sent.headers[:-1]
    worse = another(bad, len(bad) - 3)
    for name, values in (("bad, good", (bad, good)), ("good, bad", (good, bad)), ("bad, bad", (bad, worse))):
        headers = [*rest, *((scheme.header, value) for value in values)]
        yield Case(scheme, f"two signatures: {name}", replace(sent, headers=headers))
        joined = [*rest, (scheme.header, ",".join(values))]
        yield Case(scheme, f"two signatures, joined: {name}", replace(sent, headers=joined))
        spread = [(scheme.header.upper(), values[0]), *rest, (scheme.header.lower(), values[1])]
        yield Case(scheme, f"two signatures, of two cases: {name}", replace(sent, headers=spread))


def secrets(scheme: Scheme, parts: Parts) -> Iterator[Case]:
    sent, forged = scheme.send(parts), scheme.send(replace(parts, secret=scheme.secrets[1]))
    right, other = map(scheme.configured, scheme.secrets)
    for name, setting in (
        ("new first", f"{other},{right}"),
        ("old first", f"{right}, {other}"),
        ("a blank between", f"{other},, ,{right}"),
    ):
        yield Case(scheme, f"several secrets, {name}", sent, True, setting, (right, other))
        yield Case(scheme, f"several secrets, {name}, the other", forged, True, setting, (right, other))
    for name, setting in (("a line end", f"{right}\n"), ("a Windows line end", f"{right}\r\n"), ("spaces", f"  {right}\t")):
        yield Case(scheme, f"secret with {name}", sent, True, setting)
    yield Case(scheme, "secret of somebody else", forged)
    yield Case(scheme, "other secret configured", sent, False, other, (other,))
    for setting in (None, "", " ", ",", " , \n", *scheme.spoiled):
        yield Case(scheme, f"secret {setting!r}", sent, False, setting, () if setting is None else (setting,))
    if scheme.key is str.encode:
        foreign = scheme.send(replace(parts, secret=NON_ASCII))
        yield Case(scheme, "secret not ASCII", foreign, True, NON_ASCII, (NON_ASCII,))
        yield Case(scheme, "secret not ASCII, and not this one", sent, False, NON_ASCII, (NON_ASCII,))
        yield Case(scheme, "secret in capitals", scheme.send(replace(parts, secret=right.upper())))
        for setting in (" ", ",", " , \n"):
            blank = scheme.send(replace(parts, secret=setting))
            yield Case(scheme, f"secret {setting!r}, signed with it", blank, False, setting, ())
    if scheme.keyless is not None:
        forged = scheme.send(replace(parts, secret=scheme.keyless))
        yield Case(scheme, "no secret, signed with none", forged, False, None, ())
        yield Case(scheme, "empty secret, signed with none", forged, False, scheme.keyless, (scheme.keyless,))
        yield Case(scheme, "blank among secrets, signed with none", forged, False, f"{right},{scheme.keyless}, ")


def times(scheme: Scheme, parts: Parts) -> Iterator[Case]:
    if scheme.clock is None or not scheme.tolerance:
        return
    edge = scheme.tolerance
    for name, shift, genuine in (
        ("at its edge, old", -edge, True),
        ("at its edge, ahead", edge, True),
        ("a moment ago", -1, True),
        ("a moment ahead", 1, True),
        ("too old", -edge - 1, False),
        ("too far ahead", edge + 1, False),
        ("of last year", -31_536_000, False),
        ("of next year", 31_536_000, False),
        ("of the epoch", -NOW, False),
    ):
        yield Case(scheme, f"time {name}", scheme.send(scheme.parts(parts.body, NOW + shift)), genuine)
    yield Case(scheme, "time half a second too old", scheme.send(scheme.parts(parts.body, NOW - edge)), now=NOW + 0.5)
    sig = scheme.encode(scheme.digest(replace(parts, body=scheme.send(parts).body)))
    time = parts.time
    for name, odd in (
        ("with a plus", f"+{time}"),
        ("with a minus", f"-{time}"),
        ("with an underscore", f"{time[0]}_{time[1:]}"),
        ("with a fraction", f"{time}.0"),
        ("with an exponent", f"{time}e0"),
        ("in digits of another script", time.translate(OTHER_DIGITS)),
        ("in hexadecimal", "0x6b49d200"),
        ("no number", "NaN"),
        ("without an end", "Infinity"),
        ("a word", "yesterday"),
        ("empty", ""),
        ("of thirty digits", time + "0" * 20),
        ("of five thousand digits", time + "0" * 5000),
    ):
        yield Case(scheme, f"time {name}", scheme.send(replace(parts, time=odd)))
        yield Case(scheme, f"time {name}, after signing", scheme.send(replace(parts, time=odd), sig))


def companions(scheme: Scheme, parts: Parts) -> Iterator[Case]:
    sent = scheme.send(parts)
    for header, _ in scheme.companions:
        value = dict(sent.headers)[header]
        rest = _without(sent, header)
        for name, values in (
            ("missing", ()),
            ("empty", ("",)),
            ("changed", (another(value, len(value) - 2),)),
            ("longer", (value + "0",)),
            ("not ASCII", ("é" + value,)),
            ("twice, bad first", (another(value, len(value) - 2), value)),
            ("twice, good first", (value, another(value, len(value) - 2))),
            ("twice, joined", (f"{value},{another(value, len(value) - 2)}",)),
        ):
            yield Case(scheme, f"{header} {name}", replace(sent, headers=[*((header, one) for one in values), *rest]))


def addresses(scheme: Scheme, parts: Parts) -> Iterator[Case]:
    sent = scheme.send(parts)
    if "{url}" in scheme.signed:
        for path in (
            "/hooks/y?shop=a%20b&n=1",
            "/hooks/x?shop=a%20b&n=2",
            "/hooks/x?shop=a+b&n=1",
            "/hooks/x?n=1&shop=a%20b",
            "/hooks/x",
            "/hooks/x?shop=a%20b&n=1&",
            "/hooks/x/?shop=a%20b&n=1",
        ):
            yield Case(scheme, f"address {path}", replace(sent, url=sent.url.replace(parts.path, path)))
    if "{method}" in scheme.signed:
        for method in ("PUT", "GET", "PATCH"):
            yield Case(scheme, f"method {method}", replace(sent, method=method))


MAKERS = (headers, repeated, secrets, times, companions, addresses)
