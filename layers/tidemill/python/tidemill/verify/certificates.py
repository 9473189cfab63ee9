"""Signatures by RSA whose certificate the delivery names: it is fetched from the sender's own host and from no other.

They need the package cryptography, which is imported when such a source gets its first request.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidemill.errors import ConfigurationError
from tidemill.model import Accepted, Refused, Request
from tidemill.verify.check import Check, cannot_sign
from tidemill.verify.public_keys import need_cryptography

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

Fetch = Callable[[str], bytes]  # address -> PEM

LARGEST_CERTIFICATE = 64 * 1024  # bytes
FETCH_SECONDS = 5.0  # for a certificate in all
KEPT_SECONDS = 3600.0
MOST_KEPT = 16
# An attacker can name addresses on the right host that do not exist, and each costs us a request: so few of these are made.
MOST_FAILURES, FAILURES_SECONDS = 5, 60.0


@dataclass(frozen=True)
class Certified:
    """What a delivery says of its signature: `algorithm` is sha1 or sha256."""

    certificate_url: str
    signature: bytes
    text: bytes
    algorithm: str


@dataclass
class Certificates:
    """The public keys behind addresses, each fetched once an hour. `addresses` is what a whole address must look like."""

    addresses: re.Pattern[str]
    fetch: Fetch
    _kept: dict[str, tuple[float, RSAPublicKey]] = field(default_factory=dict)
    _failed_at: list[float] = field(default_factory=list)

    def key(self, url: str, now: float) -> RSAPublicKey | Refused:
        """The key at an address, at `now` (epoch seconds); Refused for whatever reason there is none."""
        if not self.addresses.fullmatch(url):
            return Refused("the address of the certificate is not the sender's")
        if url in self._kept and 0 <= now - self._kept[url][0] < KEPT_SECONDS:
            return self._kept[url][1]
        self._failed_at = [at for at in self._failed_at if 0 <= now - at < FAILURES_SECONDS]
        if len(self._failed_at) >= MOST_FAILURES:
            return Refused("the certificate was not fetched: too many could not be, in the last minute")
        try:
            key = _rsa_key(self.fetch(url))
        except Exception as error:
            self._failed_at.append(now)
            return Refused(f"the certificate could not be fetched: {type(error).__name__}")
        while len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[url] = now, key
        return key


def certificate_signature(
    read: Callable[[Request, Mapping[str, str], float], Certified | Refused],
    *,
    addresses: str,
    fetch: Fetch | None = None,
    secrets: tuple[str, ...] = (),
    headers: tuple[str, ...] = (),
) -> Check:
    """`read` takes from a request what it says of its signature; `addresses` is a pattern of the whole addresses that a
    certificate may have, which begins with https:// and a host; `fetch` gets one, from an address to the bytes of a PEM.
    That it stands there is all that vouches for a certificate: neither its issuer nor its dates are looked at."""
    if not addresses.startswith("https://"):
        raise ConfigurationError("certificate_signature: addresses must begin with https://")
    need_cryptography("certificate_signature")
    certificates = Certificates(re.compile(addresses, re.ASCII), fetch or fetched)

    def judge(request: Request, settings: Mapping[str, str], now: float) -> Accepted | Refused:
        found = read(request, settings, now)
        if isinstance(found, Refused):
            return found
        key = certificates.key(found.certificate_url, now)
        if isinstance(key, Refused):
            return key
        return Accepted() if _matches(key, found) else Refused("the signature does not match")

    return Check(judge, secrets, headers, cannot_sign("only its sender has the private key"))


def fetched(url: str, seconds: float = FETCH_SECONDS) -> bytes:
    """What stands at an address: no redirect is followed, and it is bounded in time and size. Raises OSError."""
    from urllib.request import HTTPRedirectHandler, build_opener

    class NoRedirect(HTTPRedirectHandler):
        def redirect_request(self, *given: Any) -> None:
            return None  # the answer is an HTTPError then, which is an OSError

    deadline = time.monotonic() + seconds
    data = b""
    with build_opener(NoRedirect).open(url, timeout=seconds) as response:
        while piece := response.read1(LARGEST_CERTIFICATE):
            data += piece
            if len(data) > LARGEST_CERTIFICATE or time.monotonic() > deadline:
                raise OSError("the certificate is too large or comes too slowly")
    return data


def _rsa_key(pem: bytes) -> RSAPublicKey:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.x509 import load_pem_x509_certificate

    if len(pem) > LARGEST_CERTIFICATE:
        raise ValueError("the certificate is too large")
    key = load_pem_x509_certificate(pem).public_key()
    if not isinstance(key, RSAPublicKey):
        raise ValueError("the certificate is not for RSA")
    return key


def _matches(key: RSAPublicKey, found: Certified) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA1, SHA256

    algorithm = {"sha1": SHA1, "sha256": SHA256}[found.algorithm]()
    try:
        key.verify(found.signature, found.text, PKCS1v15(), algorithm)
    except InvalidSignature:
        return False
    return True
