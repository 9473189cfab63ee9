"""Discord and SendGrid, with keys that are made here."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tidemill import Accepted, Refused, Reply, Request, senders

NOW = 1_800_000_000.0
TIME = "1800000000"
ED25519, OTHER_ED25519 = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
P256 = ec.generate_private_key(ec.SECP256R1())


def raw(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


def discord_request(body: bytes, key: Ed25519PrivateKey = ED25519, time: str = TIME) -> Request:
    signature = key.sign(time.encode() + body).hex()
    return Request("POST", "https://x.test", [("X-Signature-Ed25519", signature), ("X-Signature-Timestamp", time)], body)


discord = senders.discord("x", public_key="K")


def test_discord_is_genuine_with_either_of_two_keys() -> None:
    request = discord_request(b'{"type":2,"id":"77"}')
    for setting in (raw(ED25519), f"{raw(OTHER_ED25519)}, {raw(ED25519)}"):
        assert discord.check(request, {"K": setting}, 0) == Accepted("77")
    assert discord.check(request, {"K": raw(OTHER_ED25519)}, 0) == Refused(
        "the signature in X-Signature-Ed25519 does not match"
    )


def test_the_ping_of_discord_is_answered_with_its_pong_once_it_is_signed() -> None:
    request = discord_request(b'{"type":1}')
    assert discord.check(request, {"K": raw(ED25519)}, 0) == Reply(200, "application/json", '{"type":1}')
    assert isinstance(discord.check(replace(request, body=b'{"type":1 }'), {"K": raw(ED25519)}, 0), Refused)
    assert discord.check(discord_request(b'{"type":true}'), {"K": raw(ED25519)}, 0) == Accepted(None)


@pytest.mark.parametrize("signature", ["", "zz", "00", "00" * 64, "é"])
def test_a_signature_that_is_none_is_refused(signature: str) -> None:
    request = discord_request(b"{}")
    forged = replace(request, headers=[("X-Signature-Ed25519", signature), request.headers[1]])
    verdict = discord.check(forged, {"K": raw(ED25519)}, 0)
    assert isinstance(verdict, Refused)
    assert "raised" not in verdict.reason


def test_the_time_of_discord_is_signed_and_digits_only() -> None:
    request = discord_request(b"{}")
    moved = replace(request, headers=[request.headers[0], ("X-Signature-Timestamp", "1800000001")])
    assert isinstance(discord.check(moved, {"K": raw(ED25519)}, 0), Refused)
    assert isinstance(discord.check(discord_request(b"{}", time="12a"), {"K": raw(ED25519)}, 0), Refused)
    strict = senders.discord("x", public_key="K", tolerance=300)
    assert isinstance(strict.check(request, {"K": raw(ED25519)}, NOW + 301), Refused)


@pytest.mark.parametrize("setting", ["junk", "00", raw(ED25519)[:-2], "é"], ids=["junk", "short", "cut", "foreign"])
def test_a_public_key_that_is_none_refuses_everything_and_names_its_setting(setting: str) -> None:
    verdict = discord.check(discord_request(b"{}"), {"K": setting}, 0)
    assert verdict == Refused("the setting K is no public key for ed25519")
    assert discord.check(discord_request(b"{}"), {}, 0) == Refused("its public key is not set")


def test_a_public_key_that_is_changed_counts_at_once() -> None:
    source = senders.discord("x", public_key="K")
    request = discord_request(b"{}")
    verdicts = [source.check(request, {"K": raw(key)}, 0) for key in (OTHER_ED25519, ED25519, OTHER_ED25519)]
    assert [isinstance(verdict, Accepted) for verdict in verdicts] == [False, True, False]


def sendgrid_request(body: bytes, time: str = TIME) -> Request:
    signature = base64.b64encode(P256.sign(time.encode() + body, ec.ECDSA(hashes.SHA256()))).decode()
    name = "X-Twilio-Email-Event-Webhook"
    return Request("POST", "https://x.test", [(f"{name}-Signature", signature), (f"{name}-Timestamp", time)], body)


sendgrid = senders.sendgrid("x", public_key="K")
PEM_KEY = P256.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
BARE_KEY = "".join(PEM_KEY.strip().splitlines()[1:-1])


@pytest.mark.parametrize(
    "setting",
    [BARE_KEY, PEM_KEY, PEM_KEY.replace("\n", "\\n"), f"{BARE_KEY},{BARE_KEY}"],
    ids=["bare", "pem", "pem in one line", "two"],
)
def test_sendgrid_is_genuine_under_the_ids_of_all_its_events(setting: str) -> None:
    body = b'[{"sg_event_id":"a"},{"sg_event_id":"b"}]'
    assert sendgrid.check(sendgrid_request(body), {"K": setting}, NOW) == Accepted("a,b")
    assert isinstance(sendgrid.check(replace(sendgrid_request(body), body=body + b" "), {"K": setting}, NOW), Refused)
    assert sendgrid.check(sendgrid_request(body), {"K": setting}, NOW + 301) == Refused("the timestamp is too old")
    assert sendgrid.check(sendgrid_request(body), {"K": setting}, NOW - 301) == Refused("the timestamp is too new")


def test_a_key_of_another_curve_is_no_key_of_sendgrid() -> None:
    other = ec.generate_private_key(ec.SECP384R1()).public_key()
    setting = base64.b64encode(other.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode()
    verdict = sendgrid.check(sendgrid_request(b"[]"), {"K": setting}, NOW)
    assert verdict == Refused("the setting K is no public key for ecdsa-p256")
