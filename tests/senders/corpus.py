"""The corpus: requests as the senders sign them, and the same with one thing off.

A Scheme says how a sender signs; it is written from the sender's description, and shares no code with the presets that it
tries. `cases` makes the requests. Each carries the verdict that is right, and the official package, where there is one,
must say the same, except where the scheme names the rule by which Tidemill differs.
"""

from __future__ import annotations

import base64
import hmac
import string
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache

from tidemill import Accepted, Refused, Reply, Request, Source, senders

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z
PUBLIC = "https://hooks.example.test"
SEEN = "http://10.0.0.7:8000"  # what the function behind a gateway sees of it
SECRET, OTHER = "correct-horse-7", "wrong-horse-8"
HEX = set(string.hexdigits)
ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
USUAL = "<the sender's own>"

RULES = {
    "raw bytes": "a body is signed as bytes, and need not be UTF-8; the package decodes it and raises",
    "both ways": "a timestamp from the future is as good as an old one; the package looks at old ones only",
    "a window": "a timestamp that is signed is held against the clock; the package leaves that to the caller",
    "the edge": "a timestamp that is just as old as the tolerance still counts; the package draws the line a moment earlier",
    "fractions": "the clock has fractions of a second; the package cuts them off",
    "only digits": "a timestamp is ASCII digits; Python's int() and float() take more than that",
    "one value": "a header that must be single and comes with two values proves nothing; the package sees one of them",
    "no secret": "without a secret nothing is genuine; the package computes an HMAC with an empty key",
    "strict base64": "what is not base64 in its one spelling is no signature; the package skips what it does not know",
    "either case": "hexadecimal says the same in capitals; the package compares texts",
    "with its version": "a signature stands behind its version; the package takes it bare too",
    "SHA-256": "SHA-1 is not enough; the package still takes it",
    "white space": "white space around the pieces of a header is none of theirs; the package takes it for part of a name",
    "other names": "what a header says under other names is for somebody else; the package raises",
    "every item": "a batch is genuine when each of its items is; the package looks at the first",
}


@dataclass(frozen=True)
class Parts:
    """What a request is made of before it is signed; `time` is text as it is sent, `path` has the query with it."""

    body: bytes
    time: str = ""
    secret: str = SECRET
    id: str = "delivery-1"
    path: str = "/hooks/x?shop=a%20b&n=1"
    method: str = "POST"


Official = Callable[[Request, str, float], bool]


@dataclass(frozen=True)
class Sender:
    """A sender: how its preset is made, its secrets (the right one and another), and what its official package says.
    `configured` is what the receiver has of a secret, a public key perhaps."""

    preset: str
    _: KW_ONLY
    secrets: tuple[str, str] = (SECRET, OTHER)
    configured: Callable[[str], str] = str
    parameter: str = "secret"  # of the preset, for the setting with the secret; "" where it takes none
    options: Mapping[str, object] = field(default_factory=dict)
    official: Official | None = None
    differs: Mapping[str, str] = field(default_factory=dict)  # the name of a case -> the rule
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or self.preset


@dataclass(frozen=True)
class Scheme(Sender):
    """How a sender signs in a header: `signed` is what is signed and `form` how the header shows it, with {sig}, {time},
    {id}, {url}, {method}, {body}; `companions` are the other headers that are signed; `clock` writes an epoch second.
    @TIME@ in a body stands for the time."""

    header: str
    bodies: tuple[bytes, ...]
    _: KW_ONLY
    signed: str = "{body}"
    form: str = "{sig}"
    algorithm: str = "sha256"
    encode: Callable[[bytes], str] = bytes.hex
    mac: Callable[[bytes, bytes, str], bytes] = hmac.digest
    key: Callable[[str], bytes] = str.encode
    keyless: str | None = ""  # the secret that makes an empty key; None where there is no such thing
    spoiled: tuple[str, ...] = ()  # settings that hold no key
    companions: tuple[tuple[str, str], ...] = ()
    raw: bool = True  # whether a body that is not UTF-8 can be genuine
    clock: Callable[[float], str] | None = None
    tolerance: int = 300  # seconds; 0 where the time is signed, and not looked at

    def parts(self, body: bytes, seconds: float = NOW) -> Parts:
        return Parts(body, self.clock(seconds) if self.clock else "", self.secrets[0])

    def digest(self, parts: Parts, algorithm: str = "") -> bytes:
        before, middle, after = self.signed.partition("{body}")
        data = _fill(before, parts).encode() + (parts.body if middle else b"") + _fill(after, parts).encode()
        return self.mac(self.key(parts.secret), data, algorithm or self.algorithm)

    def send(self, parts: Parts, sig: str | None = None, form: str = "") -> Request:
        """The request, signed; with `sig` in place of the signature, or `form` in place of the form of the header."""
        parts = replace(parts, body=parts.body.replace(b"@TIME@", parts.time.encode()))
        sig = self.encode(self.digest(parts)) if sig is None else sig
        headers = [(name, _fill(value, parts)) for name, value in self.companions]
        value = _fill(form or self.form, parts, sig)
        return Request(parts.method, SEEN + parts.path, [*headers, (self.header, value)], parts.body)


@dataclass(frozen=True)
class Case:
    """A request, and whether it is genuine. `setting` is what the receiver has configured, None where nothing; the official
    package is tried with each of `secrets` in turn. Where they are not given, they are the sender's own."""

    sender: Sender
    name: str
    request: Request
    genuine: bool = False
    setting: str | None = USUAL
    secrets: tuple[str, ...] = (USUAL,)
    now: float = NOW

    @property
    def rule(self) -> str:
        """The rule by which the official package judges otherwise; empty where it does not."""
        return self.sender.differs.get(self.name, "")

    def verdict(self) -> Accepted | Refused | Reply:
        usual = self.sender.configured(self.sender.secrets[0])
        setting = {} if self.setting is None else {"S": usual if self.setting == USUAL else self.setting}
        made = source(self.sender.preset, self.sender.parameter, **self.sender.options)
        return made.check(self.request, {"PUBLIC_URL": PUBLIC} | setting, self.now)

    def official_verdict(self) -> bool:
        """What the package says; that it raises means no."""
        assert self.sender.official is not None
        usual = self.sender.configured(self.sender.secrets[0])
        for secret in self.secrets:
            try:
                if self.sender.official(self.request, usual if secret == USUAL else secret, self.now):
                    return True
            except Exception:
                continue
        return False


@cache
def source(preset: str, parameter: str = "secret", **options: object) -> Source:
    setting = {parameter: "S"} if parameter else {}
    made: Source = getattr(senders, preset)(name="x", **setting, **options)
    return made


def another(text: str, at: int) -> str:
    """The text with the character at a place replaced by another one, of its alphabet and of another value."""
    old = text[at]
    new = ALPHABET[ALPHABET.index(old) ^ 32] if old in ALPHABET and not set(text) <= HEX else "1" if old == "0" else "0"
    return text[:at] + new + text[at + 1 :]


def same_bytes(sig: str) -> str:
    """Base64 with the bits that no byte has a share in set otherwise: a lenient decoder reads the same bytes."""
    bare = sig.rstrip("=")
    return bare[:-1] + ALPHABET[ALPHABET.index(bare[-1]) ^ 1] + sig[len(bare) :]


def base64_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def seconds(moment: float) -> str:
    return str(int(moment))


def milliseconds(moment: float) -> str:
    return str(int(moment * 1000))


def public_url(request: Request) -> str:
    return PUBLIC + request.url.removeprefix(SEEN)


def _fill(template: str, parts: Parts, sig: str = "") -> str:
    return template.format(sig=sig, time=parts.time, id=parts.id, url=PUBLIC + parts.path, method=parts.method)
