"""What a verification is, and the comparison that all of them end with.

A verification is any callable `(request, settings, now) -> Accepted | Refused | Reply`; `settings` is a mapping of strings,
`now` epoch seconds. Those of this package are Checks, which also tell what they need.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from tidemill.errors import CommandError, ConfigurationError
from tidemill.model import Accepted, Refused, Reply, Request
from tidemill.settings import secrets_in

Verdict = Accepted | Refused | Reply
Verify = Callable[[Request, Mapping[str, str], float], Verdict]
Headers = list[tuple[str, str]]
Sign = Callable[[Request, Mapping[str, str], float], Headers]


def cannot_sign(why: str) -> Sign:
    """The `sign` of a Check whose deliveries only their sender can make: it raises CommandError that says why."""

    def sign(request: Request, settings: Mapping[str, str], now: float) -> NoReturn:
        raise CommandError("invalid", f"a delivery of this source cannot be made here: {why}", "source")

    return sign


_not_by_headers = cannot_sign("it is not verified by headers alone")


@dataclass(frozen=True)
class Check:
    """A verification: `judge` decides; `secrets` are the names of the settings that it cannot do without, `headers` those of
    the headers whose values must not be stored. `sign` makes the headers of a genuine delivery, from a request that is
    complete but for them; it raises CommandError where that cannot be done."""

    judge: Verify
    secrets: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    sign: Sign = _not_by_headers

    def __call__(self, request: Request, settings: Mapping[str, str], now: float) -> Verdict:
        return self.judge(request, settings, now)


def one_of(given: bytes, expected: Iterable[bytes], reason: str) -> Accepted | Refused:
    """Compare with each, always with all, in constant time; `reason` is that of the refusal."""
    matches = [hmac.compare_digest(given, one) for one in expected]
    if not matches:
        return Refused("its secret is not set")
    return Accepted() if any(matches) else Refused(reason)


def secret_bytes(settings: Mapping[str, str], name: str) -> list[bytes]:
    """The secrets in one setting; none where it is missing or blank."""
    return [to_bytes(secret) for secret in secrets_in(settings.get(name, ""))]


def first_secret(settings: Mapping[str, str], name: str) -> str:
    """The secret to sign with. Raises CommandError that names the setting where it has none."""
    if not (found := secrets_in(settings.get(name, ""))):
        raise CommandError("invalid", f"the setting {name} is missing", name)
    return found[0]


def to_bytes(text: str) -> bytes:
    """UTF-8; never raises."""
    try:
        # An environment variable that is not UTF-8 reaches Python with surrogates, which stand for its bytes.
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def check_names(primitive: str, **names: object) -> None:
    """Raise ConfigurationError unless each is a text that is not blank."""
    for field, value in names.items():
        if not isinstance(value, str) or not value.strip():
            raise ConfigurationError(f"{primitive}: {field} must be a name, not {value!r}")


def check_choice(primitive: str, field: str, value: object, choices: Iterable[str]) -> None:
    """Raise ConfigurationError unless the value is one of the choices."""
    if value not in (known := list(choices)):
        raise ConfigurationError(f"{primitive}: {field} must be one of {', '.join(known)}, not {value!r}")
