"""Keys, certificates and a host that has them, for senders that sign with a private key."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

NOW = 1_800_000_000.0
RSA, OTHER_RSA = (rsa.generate_private_key(65537, 2048) for _ in "ab")


def certificate(key: Any) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    start = datetime.datetime(2026, 1, 1)
    builder = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), start, start.replace(year=2030)
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


PEM = certificate(RSA)


@dataclass
class Fetching:
    """Certificates by address; what is not there raises."""

    known: dict[str, bytes]
    asked: list[str] = field(default_factory=list)

    def __call__(self, url: str) -> bytes:
        self.asked.append(url)
        return self.known[url]
