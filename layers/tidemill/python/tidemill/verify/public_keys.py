"""Signatures that only the sender can make, and everybody can check who has its public key.

They need the package cryptography, which is imported when such a source gets its first request.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.util import find_spec

from tidemill.errors import ConfigurationError
from tidemill.model import Accepted, Refused, Request
from tidemill.settings import secrets_in
from tidemill.verify.check import Check, cannot_sign, check_choice, check_names
from tidemill.verify.reading import decoders
from tidemill.verify.signed import Claim, Signed

Verifier = Callable[[bytes, bytes], bool]  # (signature, text)


def need_cryptography(what: str) -> None:
    """Raise ConfigurationError that says what to add, where the package cryptography is missing."""
    if find_spec("cryptography") is None:
        raise ConfigurationError(
            f"{what} needs the package cryptography: pip install cryptography, and for Lambda add the line"
            " `cryptography` to layers/dependencies/requirements.in and run `make lock`"
        )


def key_signature(kind: str, signed: Signed, *, setting: str) -> Check:
    """The sender signs with a private key; the setting holds its public key, or several, separated by commas. `kind` is
    ed25519 (the key in hex) or ecdsa-p256 (the key in PEM, or what stands between its lines: base64 of DER; SHA-256)."""
    check_choice("key_signature", "kind", kind, _loaders)
    check_names("key_signature", setting=setting)
    need_cryptography("key_signature")
    load = _loaders[kind]

    @lru_cache(maxsize=1)  # until the setting changes
    def verifiers(text: str) -> list[Verifier]:
        return [verifier for one in secrets_in(text) if (verifier := load(one))]

    def judge(request: Request, settings: Mapping[str, str], now: float) -> Accepted | Refused:
        text = settings.get(setting, "")
        if not secrets_in(text):
            return Refused("its public key is not set")
        if not (known := verifiers(text)):
            return Refused(f"the setting {setting} is no public key for {kind}")

        def genuine(claim: Claim) -> Accepted | Refused:
            matched = any(matches(one, text) for matches in known for one in claim.signatures for text in claim.texts)
            return Accepted() if matched else Refused(f"the signature in {signed.signature} does not match")

        return signed.judge(request, settings, now, genuine)

    return Check(judge, (setting,), signed.headers, cannot_sign("only its sender has the private key"))


def _ed25519(text: str) -> Verifier | None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    data = decoders["hex"](text)
    if data is None or len(data) != 32:
        return None
    key = Ed25519PublicKey.from_public_bytes(data)

    def matches(signature: bytes, signed: bytes) -> bool:
        try:
            key.verify(signature, signed)
        except InvalidSignature:
            return False
        return True

    return matches


def _ecdsa_p256(text: str) -> Verifier | None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    try:
        key = load_der_public_key(_der(text))
    except Exception:  # what cryptography raises differs between its versions
        return None
    if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, SECP256R1):
        return None
    elliptic = key

    def matches(signature: bytes, signed: bytes) -> bool:
        try:
            elliptic.verify(signature, signed, ECDSA(SHA256()))
        except InvalidSignature:
            return False
        return True

    return matches


def _der(text: str) -> bytes:
    """The bytes of a key in PEM, also in one line, where an environment variable cannot have several."""
    inner = text.replace("-----BEGIN PUBLIC KEY-----", "").replace("-----END PUBLIC KEY-----", "").replace("\\n", "")
    return base64.b64decode("".join(inner.split()), validate=True)


_loaders: dict[str, Callable[[str], Verifier | None]] = {"ed25519": _ed25519, "ecdsa-p256": _ecdsa_p256}
