"""Test deliveries: what we sign is what the source takes, and what we cannot sign is said."""

from __future__ import annotations

import json

import pytest
from tidemill import Accepted, Request, Source, senders
from tidemill.errors import CommandError
from tidemill.verify import Signed, all_of, hmac_signature, secret_header

NOW = 1_800_000_000.5
URL = "https://hooks.example.test/hooks/x?a=1"
KEY = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"
SETTINGS = {"S": "first-secret, second-secret", "W": f"{KEY},whsec_AAAA", "V": "token"}

PLAIN = (
    senders.github, senders.bitbucket, senders.intercom, senders.whatsapp, senders.meta, senders.shopify, senders.line,
    senders.typeform, senders.razorpay, senders.paystack, senders.dropbox, senders.notion, senders.stripe, senders.calendly,
    senders.paddle, senders.slack, senders.zoom, senders.twitch, senders.hubspot, senders.square, senders.twilio,
    senders.gitlab_token, senders.telegram, senders.postmark,
)  # fmt: skip
STANDARD = (senders.standardwebhooks, senders.svix, senders.openai, senders.gitlab)


def signed(source: Source, body: bytes, url: str = URL) -> list[tuple[str, str]]:
    headers = senders.sign(source, body, SETTINGS, NOW, url)
    assert isinstance(source.check(Request("POST", url, headers, body), SETTINGS, NOW), Accepted)
    return headers


@pytest.mark.parametrize("preset", PLAIN, ids=lambda preset: str(preset.__name__))
@pytest.mark.parametrize("body", [b'{"id":1}', b"a=1&b=%C3%BC&a=1", b"", b"\xff"])
def test_a_delivery_that_is_signed_here_is_genuine(preset: object, body: bytes) -> None:
    headers = signed(preset("x", secret="S"), body)  # type: ignore[operator]
    assert len({name for name, _ in headers}) == len(headers)
    second = {"S": "second-secret"}
    assert not isinstance(preset("x", secret="S").check(Request("POST", URL, headers, body), second, NOW), Accepted)  # type: ignore[operator]


@pytest.mark.parametrize("preset", STANDARD, ids=lambda preset: str(preset.__name__))
def test_a_delivery_with_a_signed_id_gets_one_that_is_its_own(preset: object) -> None:
    source: Source = preset("x", secret="W")  # type: ignore[operator]
    keys = set()
    for body in (b"{}", b"[]"):
        headers = signed(source, body)
        verdict = source.check(Request("POST", URL, headers, body), SETTINGS, NOW)
        assert isinstance(verdict, Accepted)
        keys.add(verdict.dedup_key)
    assert len(keys) == 2 and None not in keys


def test_the_time_of_a_body_must_be_right_already() -> None:
    source = senders.linear("x", secret="S")
    signed(source, json.dumps({"webhookTimestamp": int(NOW * 1000)}).encode())
    with pytest.raises(CommandError, match="this body cannot be a delivery of x: the timestamp is too old"):
        senders.sign(source, b'{"webhookTimestamp":1}', SETTINGS, NOW, URL)


def test_a_json_body_of_twilio_needs_its_hash_in_the_address() -> None:
    source = senders.twilio("x", secret="S")
    hashed = f"{URL}&bodySHA256=44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    signed(source, b"{}", hashed)
    with pytest.raises(CommandError, match="the body is not the one of bodySHA256"):
        senders.sign(source, b"[]", SETTINGS, NOW, hashed)


def test_what_is_signed_of_the_body_is_taken_from_it() -> None:
    source = Source("crm", hmac_signature(Signed("X-Sig", "{ts}.{json:id}", time="$.at"), secret="S"))
    signed(source, b'{"id":"e1","at":1800000000}')
    for body, why in ((b"x", "the body is not JSON"), (b'{"id":"e1"}', "there is no \\$.at in the body")):
        with pytest.raises(CommandError, match=why):
            senders.sign(source, body, SETTINGS, NOW, URL)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (senders.discord("x"), "only its sender has the private key"),
        (senders.sendgrid("x"), "only its sender has the private key"),
        (senders.paypal("x"), "only its sender has the private key"),
        (senders.sns("x"), "only its sender has the private key"),
        (senders.yookassa("x"), "it is known by its network alone"),
        (senders.msgraph("x", secret="S"), "its secret stands in the body"),
        (senders.mailgun("x", secret="S"), "its signature stands in the body"),
        (senders.tbank("x", secret="S"), "its signature stands in the body"),
        (senders.adyen("x", secret="W"), "the setting W is missing or not hex"),
        (senders.adyen("x", secret="A"), "its signature stands in the body"),
        (senders.github("x", secret="NONE"), "the setting NONE is missing"),
        (senders.telegram("x", secret="NONE"), "the setting NONE is missing"),
        (Source("own", verify=lambda request, settings, now: Accepted()), "a verification of its own"),
        (
            Source("crm", verify=hmac_signature(Signed("X-Sig", "{config:ID}{body}"), secret="S")),
            "the setting ID is missing",
        ),
    ],
)
def test_what_cannot_be_signed_says_why(source: Source, why: str) -> None:
    with pytest.raises(CommandError, match=why) as raised:
        senders.sign(source, b"{}", {**SETTINGS, "A": "00ff"}, NOW, URL)
    assert raised.value.code == "invalid"
    assert "first-secret" not in str(raised.value)


def test_all_headers_of_a_source_with_several_are_made() -> None:
    verify = all_of(secret_header("X-One", secret="S"), hmac_signature(Signed("X-Two"), secret="S"))
    assert [name for name, _ in signed(Source("two", verify), b"{}")] == ["X-One", "X-Two"]
