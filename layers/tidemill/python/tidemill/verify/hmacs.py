"""Signatures that whoever has the secret can make: HMACs, and a digest over fields and a password."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping

from tidemill.errors import CommandError
from tidemill.model import Accepted, Refused, Request
from tidemill.settings import secrets_in
from tidemill.verify.check import Check, Headers, cannot_sign, check_choice, check_names, one_of, secret_bytes, to_bytes
from tidemill.verify.forms import plain
from tidemill.verify.reading import Path, decoders, document_of, text_of
from tidemill.verify.signed import Claim, Signed

ALGORITHMS = ("sha1", "sha256", "sha512")

# How a secret, as its sender shows it, becomes a key.
KEYS: dict[str, Callable[[str], bytes | None]] = {
    "utf8": to_bytes,
    "hex": decoders["hex"],
    "base64": decoders["base64"],
    "whsec": lambda secret: decoders["base64"](secret.removeprefix("whsec_")),
}


def hmac_signature(signed: Signed, *, secret: str, algorithm: str = "sha256", key: str = "utf8") -> Check:
    """The sender signs with an HMAC; `secret` names the setting with its secret, or with several, separated by commas, while
    one replaces the other. `algorithm` is sha1, sha256 or sha512; `key` says what the secret is: utf8 (as it is), hex,
    base64, or whsec (base64, after `whsec_` or not)."""
    check_names("hmac_signature", secret=secret)
    check_choice("hmac_signature", "algorithm", algorithm, ALGORITHMS)
    check_choice("hmac_signature", "key", key, KEYS)

    def keys(settings: Mapping[str, str]) -> list[bytes]:
        made = [KEYS[key](one) for one in secrets_in(settings.get(secret, ""))]
        return [one for one in made if one]

    def judge(request: Request, settings: Mapping[str, str], now: float) -> Accepted | Refused:
        known = keys(settings)
        if not known and secrets_in(settings.get(secret, "")):
            return Refused(f"the setting {secret} is not {key}")

        def genuine(claim: Claim) -> Accepted | Refused:
            expected = [hmac.digest(one, text, algorithm) for one in known for text in claim.texts]
            reason = f"the signature in {signed.signature} does not match"
            verdicts = [one_of(given, expected, reason) for given in claim.signatures]
            return next((verdict for verdict in verdicts if isinstance(verdict, Accepted)), verdicts[0])

        return signed.judge(request, settings, now, genuine)

    def sign(request: Request, settings: Mapping[str, str], now: float) -> Headers:
        if not (known := keys(settings)):
            raise CommandError("invalid", f"the setting {secret} is missing or not {key}", secret)
        return signed.sign(request, settings, now, lambda text: hmac.digest(known[0], text, algorithm))

    return Check(judge, (secret,), signed.headers, sign)


def hmac_sha256(header: str, *, secret: str, prefix: str = "", encoding: str = "hex") -> Check:
    """The sender puts an HMAC-SHA256 of the raw body into `header`: `prefix` and then hex or base64 (`encoding`).

    `secret` names the setting with the secret, or with several, separated by commas, while one replaces the other.
    """
    return hmac_signature(Signed(header, encoding=encoding, form=plain(prefix)), secret=secret)


def fields_digest(field: str, *, secret: str, secret_field: str) -> Check:
    """The JSON body has in `field` the hex SHA-256 of the values of its other fields and of the secret, which counts as a
    field named `secret_field`: in the order of their names, with nothing between them. Lists, objects and null are left out.

    Since nothing divides the values, whoever has seen one delivery can move characters from a value to its neighbour.
    """
    check_names("fields_digest", field=field, secret=secret, secret_field=secret_field)

    def judge(request: Request, settings: Mapping[str, str], now: float) -> Accepted | Refused:
        try:
            document_of(request)  # which sets the bounds of what is JSON here
            # Numbers as they were sent: 1.10 is not 1.1.
            fields = json.loads(request.body.decode("utf-8-sig"), parse_int=str, parse_float=str)
            given = decoders["hex"](text_of(Path(field).one(fields)))
        except (ValueError, LookupError):
            return Refused(f"there is no {field} in the body")
        if given is None:
            return Refused(f"{field} is not hex")
        if secret_field in fields:
            return Refused(f"the body has a {secret_field}, which the secret would hide")
        scalars = {name: to_bytes(text_of(value)) for name, value in fields.items() if _is_scalar(value) and name != field}
        expected = []
        for password in secret_bytes(settings, secret):
            values = [value for _, value in sorted({**scalars, secret_field: password}.items())]
            expected.append(hashlib.sha256(b"".join(values)).digest())
        return one_of(given, expected, f"the digest in {field} does not match")

    return Check(judge, (secret,), sign=cannot_sign("its signature stands in the body, which is sent as it is"))


def _is_scalar(value: object) -> bool:
    return isinstance(value, (str, bool))  # numbers are texts here
