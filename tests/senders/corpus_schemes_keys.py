"""How the senders sign that have a private key, and of which the receiver has the public one."""

from __future__ import annotations

import hashlib

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.senders import corpus_officials as official
from tests.senders.corpus import Scheme, base64_text, seconds
from tests.senders.corpus_schemes import AS_TEXT, MULTIBYTE, ONE_VALUE
from tests.senders.corpus_schemes_timed import LOOSE, spelled, twice


def _key(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _ed25519(secret: str) -> str:
    return Ed25519PrivateKey.from_private_bytes(_key(secret)).public_key().public_bytes_raw().hex()


def _ecdsa_key(key: bytes) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(key) >> 1, ec.SECP256R1())


def _ecdsa(secret: str) -> str:
    public = _ecdsa_key(_key(secret)).public_key()
    return base64_text(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def _ecdsa_sign(key: bytes, data: bytes, _: str) -> bytes:
    while True:  # until its base64 has padding, so that there are other spellings of it
        signature = _ecdsa_key(key).sign(data, ec.ECDSA(hashes.SHA256()))
        if len(signature) % 3:
            return signature


discord = Scheme(
    "discord",
    "X-Signature-Ed25519",
    (
        b'{"id":"1101","type":2,"data":{"name":"ping"}}',
        '{"id":"1102","type":3,"message":{"content":"Grüße 🌍"}}'.encode(),
        MULTIBYTE,
    ),
    signed="{time}{body}",
    mac=lambda key, data, _: Ed25519PrivateKey.from_private_bytes(key).sign(data),
    key=_key,
    keyless=None,
    configured=_ed25519,
    spoiled=("zz" * 32, "é" * 64, "00", _ed25519("x")[:-2], _ed25519("x") + "00", "00" * 32),
    companions=(("X-Signature-Timestamp", "{time}"),),
    clock=seconds,
    tolerance=0,
    parameter="public_key",
    official=official.discord,
    differs=ONE_VALUE | twice("X-Signature-Timestamp"),
)
ANY_TIME = (
    "with a plus, with a minus, with an underscore, with a fraction, with an exponent, in digits of another script, "
    "in hexadecimal, no number, without an end, a word, empty, of thirty digits, of five thousand digits"
)
sendgrid = Scheme(
    "sendgrid",
    "X-Twilio-Email-Event-Webhook-Signature",
    (
        b'[{"email":"a@example.test","event":"delivered","sg_event_id":"ZG1","sg_message_id":"14c"}]\r\n',
        '[{"event":"click","sg_event_id":"ZG2"},{"event":"open","sg_event_id":"ZG3","ua":"Zoë 👍"}]'.encode(),
        MULTIBYTE,
        b"[]",
        b"",
    ),
    signed="{time}{body}",
    encode=base64_text,
    mac=_ecdsa_sign,
    key=_key,
    keyless=None,
    configured=_ecdsa,
    spoiled=("AAAA", "not a key", "é", _ecdsa("x")[:-8]),
    companions=(("X-Twilio-Email-Event-Webhook-Timestamp", "{time}"),),
    clock=seconds,
    parameter="public_key",
    official=official.sendgrid,
    differs=ONE_VALUE
    | AS_TEXT
    | twice("X-Twilio-Email-Event-Webhook-Timestamp")
    | {f"signature {name}": "strict base64" for name in (*LOOSE, "with a space in it")}
    | {f"time {name}": "a window" for name in ("too old", "too far ahead", "of last year", "of next year", "of the epoch")}
    | {"time half a second too old": "a window", "two signatures, joined: good, bad": "one value"}
    | spelled(ANY_TIME, ""),
)

SCHEMES = (discord, sendgrid)
