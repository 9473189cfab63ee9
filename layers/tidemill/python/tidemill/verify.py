"""The primitives that check a request, and the keys that name a delivery.

A verification is any callable `(request, settings, now) -> Accepted | Refused | Reply`; `settings` is a mapping of strings,
`now` epoch seconds. Two attributes of it are read where it has them: `secrets`, the names of the settings that it cannot do
without, and `headers`, the names of the headers whose values must not be stored. A key is any callable that takes the
request and returns a text, a whole number, None for no key, or Refused.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tidemill import bodies, jsontext
from tidemill.errors import ConfigurationError
from tidemill.model import Accepted, Refused, Reply, Request
from tidemill.settings import secrets_in

Verdict = Accepted | Refused | Reply
Verify = Callable[[Request, Mapping[str, str], float], Verdict]
Key = Callable[[Request], object]

_path_piece = re.compile(r"([^.\[\]]+)|\[([0-9]+)\]")
_path = re.compile(r"(?:[^.\[\]]+|\[[0-9]+\])(?:\.[^.\[\]]+|\[[0-9]+\])*")


@dataclass(frozen=True)
class Hmac:
    """An HMAC-SHA256 of the raw body in one header, as hex or base64, after a prefix; see `hmac_sha256`."""

    header: str
    secret: str
    prefix: str = ""
    encoding: str = "hex"

    def __post_init__(self) -> None:
        _check_names(self, "header", "secret")
        if self.encoding not in _decoders:
            raise ConfigurationError(f"encoding must be one of {', '.join(_decoders)}, not {self.encoding!r}")

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.secret,)

    @property
    def headers(self) -> tuple[str, ...]:
        return (self.header,)

    def __call__(self, request: Request, settings: Mapping[str, str], now: float) -> Accepted | Refused:
        value = single(request, self.header)
        if not isinstance(value, str):
            return value or Refused(f"there is no {self.header} header")
        if not value.startswith(self.prefix):
            return Refused(f"{self.header} does not begin with {self.prefix!r}")
        given = _decoders[self.encoding](value.removeprefix(self.prefix))
        if given is None:
            return Refused(f"{self.header} is not {self.encoding}")
        return _one_of(
            given,
            [hmac.new(key, request.body, hashlib.sha256).digest() for key in secret_bytes(settings, self.secret)],
            f"the signature in {self.header} does not match",
        )


@dataclass(frozen=True)
class SecretHeader:
    """The secret itself in one header; see `secret_header`."""

    header: str
    secret: str

    def __post_init__(self) -> None:
        _check_names(self, "header", "secret")

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.secret,)

    @property
    def headers(self) -> tuple[str, ...]:
        return (self.header,)

    def __call__(self, request: Request, settings: Mapping[str, str], now: float) -> Accepted | Refused:
        value = single(request, self.header)
        if not isinstance(value, str):
            return value or Refused(f"there is no {self.header} header")
        return _one_of(_bytes(value), secret_bytes(settings, self.secret), f"the secret in {self.header} does not match")


def hmac_sha256(header: str, *, secret: str, prefix: str = "", encoding: str = "hex") -> Hmac:
    """The sender puts an HMAC-SHA256 of the raw body into `header`: `prefix` and then hex or base64 (`encoding`).

    `secret` names the setting with the secret, or with several, separated by commas, while one replaces the other.
    """
    return Hmac(header, secret, prefix, encoding)


def secret_header(name: str, *, secret: str) -> SecretHeader:
    """The sender puts the secret itself into the header `name`; `secret` names the setting, as in `hmac_sha256`."""
    return SecretHeader(name, secret)


def header(name: str) -> Key:
    """The key is the value of a header. Two different values are refused."""
    return lambda request: single(request, name)


def json_path(path: str) -> Key:
    """The key is what stands in the JSON body at a path: `id`, `data.object.id`, `items[0].id` (a leading `$.` is allowed).

    There is none where the body is no JSON, the path leads nowhere, or what stands there is neither a text nor a number.
    """
    plain = path.removeprefix("$").removeprefix(".")
    if not _path.fullmatch(plain):
        raise ConfigurationError(f"json_path must be like data.items[0].id, not {path!r}")
    pieces: list[str | int] = [name or int(index) for name, index in _path_piece.findall(plain)]

    def key(request: Request) -> str | int | None:
        try:
            value = _json_of(request)
            for piece in pieces:
                if isinstance(value, str):
                    return None
                value = value[piece]
        except (ValueError, LookupError, TypeError):
            return None
        return _number_or_text(value)

    return key


def single(request: Request, name: str) -> str | Refused | None:
    """The value of a header that must be single: None where it is absent or empty, Refused where it has two values.

    A comma divides, since API Gateway's format 2.0 joins repeated headers with one, and both formats are to answer alike.
    """
    wanted = name.lower()
    joined = ",".join(value for given, value in request.headers if given.lower() == wanted)
    values = {part.strip() for part in joined.split(",")}
    if len(values) > 1:
        return Refused(f"the header {name} has several values")
    return values.pop() or None


def secret_bytes(settings: Mapping[str, str], name: str) -> list[bytes]:
    """The secrets in one setting; none where it is missing or blank."""
    return [_bytes(secret) for secret in secrets_in(settings.get(name, ""))]


def _one_of(given: bytes, expected: list[bytes], reason: str) -> Accepted | Refused:
    """Compare with each, always with all, in constant time."""
    if not expected:
        return Refused("its secret is not set")
    matches = [hmac.compare_digest(given, one) for one in expected]
    return Accepted() if any(matches) else Refused(reason)


def _bytes(text: str) -> bytes:
    # An environment variable that is not UTF-8 reaches Python with surrogates, which stand for its bytes.
    return text.encode("utf-8", "surrogateescape")


def _hex(text: str) -> bytes | None:
    # bytes.fromhex alone would also take white space.
    return bytes.fromhex(text) if re.fullmatch("(?:[0-9a-fA-F]{2})+", text) else None


def _base64(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


_decoders: dict[str, Callable[[str], bytes | None]] = {"hex": _hex, "base64": _base64}


def _json_of(request: Request) -> Any:
    encoding = single(request, "content-encoding")
    body = bodies.expand(request.body, encoding if isinstance(encoding, str) else "")
    return jsontext.loads(body.decode("utf-8-sig"))


def _number_or_text(value: object) -> str | int | None:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return value if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def _check_names(verification: object, *fields: str) -> None:
    for field in fields:
        value = getattr(verification, field)
        if not isinstance(value, str) or not value.strip():
            raise ConfigurationError(f"{type(verification).__name__}: {field} must be a name, not {value!r}")
