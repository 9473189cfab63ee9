"""Handshakes and acknowledgements: status, content type and the exact body that each sender wants."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from urllib.parse import quote

import pytest
from tidemill import Accepted, Refused, Reply, Request, Source, senders

NOW = 1_800_000_000.0
TIME = "1800000000"
SECRET = "correct-horse-7"
SETTINGS = {"S": f"another-secret,{SECRET}", "V": "old-token, verify-me"}
TEXT = "text/plain"


def mac(text: bytes, key: str = SECRET) -> str:
    return hmac.new(key.encode(), text, hashlib.sha256).hexdigest()


def get(query: str, method: str = "GET", body: bytes = b"") -> Request:
    return Request(method, f"https://hooks.example.test/hooks/x?{query}", [], body)


def check(source: Source, request: Request) -> Accepted | Refused | Reply:
    return source.check(request, SETTINGS, NOW)


def timed(body: bytes, signature: str, time: str) -> Request:
    shown = "v0=" + mac(b"v0:" + TIME.encode() + b":" + body)
    return Request("POST", "https://hooks.example.test/hooks/x", [(signature, shown), (time, TIME)], body)


@pytest.mark.parametrize("make", [senders.whatsapp, senders.meta])
def test_meta_gets_its_challenge_back_for_either_of_two_tokens(make: object) -> None:
    source = make("x", secret="S", verify_token="V")  # type: ignore[operator]
    asked = "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token="
    for token in ("verify-me", "old-token"):
        assert check(source, get(asked + token)) == Reply(200, TEXT, "1158201444")
    for token in ("", "verify-m", "%C3%A9", "verify-me&hub.verify_token=x"):
        assert check(source, get(asked + token)) == Refused("hub.verify_token does not match")


def test_meta_gets_nothing_back_for_anything_else() -> None:
    source = senders.whatsapp("x", secret="S", verify_token="V")
    good = "hub.mode=subscribe&hub.challenge=1&hub.verify_token=verify-me"
    for request in (get(good, "POST"), get(good.replace("subscribe", "other")), get(good.replace("hub.challenge=1&", ""))):
        assert isinstance(check(source, request), Refused)
    assert source.check(get(good), {"S": SECRET}, NOW) == Refused("its secret is not set")


def test_dropbox_gets_the_text_of_its_challenge_back() -> None:
    source = senders.dropbox("x", secret="S")
    assert check(source, get("challenge=a%2Bb+c")) == Reply(200, TEXT, "a+b c")
    assert isinstance(check(source, get("challenge=a", "POST")), Refused)
    assert isinstance(check(source, get("")), Refused)


def test_microsoft_gets_the_text_of_its_token_back_by_post_alone() -> None:
    source = senders.msgraph("x", secret="S")
    token = "Validation: Testing client application reachability for subscription Request-Id: 1+2"
    assert check(source, get(f"validationToken={quote(token)}", "POST")) == Reply(200, TEXT, token)
    assert isinstance(check(source, get(f"validationToken={quote(token)}")), Refused)


def test_slack_gets_its_challenge_back_once_it_has_signed() -> None:
    source = senders.slack("x", secret="S")
    body = b'{"type":"url_verification","challenge":"3eZbrw1a","token":"t"}'
    request = timed(body, "X-Slack-Signature", "X-Slack-Request-Timestamp")
    assert check(source, request) == Reply(200, TEXT, "3eZbrw1a")
    assert isinstance(check(source, replace(request, headers=[])), Refused)
    assert isinstance(source.check(request, SETTINGS, NOW + 301), Refused)
    event = timed(b'{"type":"event_callback","challenge":"x"}', "X-Slack-Signature", "X-Slack-Request-Timestamp")
    assert check(source, event) == Accepted(None)


@pytest.mark.parametrize("setting", [SECRET, f"{SECRET},another-secret", f"another-secret,{SECRET}"])
def test_zoom_gets_the_hmac_of_its_token_by_the_secret_that_it_has_signed_with(setting: str) -> None:
    source = senders.zoom("x", secret="S")
    body = b'{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}'
    request = timed(body, "x-zm-signature", "x-zm-request-timestamp")
    verdict = source.check(request, {"S": setting}, NOW)
    assert isinstance(verdict, Reply)
    assert (verdict.status, verdict.content_type) == (200, "application/json")
    token = "qgg8vlvZRS6UYooatFL8Aw"
    assert json.loads(verdict.body) == {"plainToken": token, "encryptedToken": mac(token.encode())}


def test_nobody_else_gets_an_hmac_of_a_text_of_his_choice() -> None:
    """It could be a delivery: v0:<time>:<body>."""
    source = senders.zoom("x", secret="S")
    body = b'{"event":"endpoint.url_validation","payload":{"plainToken":"v0:1800000000:{}"}}'
    forged = Request(
        "POST", "https://x.test", [("x-zm-signature", "v0=" + "0" * 64), ("x-zm-request-timestamp", TIME)], body
    )
    assert check(source, forged) == Refused("the signature in x-zm-signature does not match")
    assert check(source, replace(forged, headers=[])) == Refused("there is no x-zm-signature header")


def test_twitch_gets_its_challenge_back_as_plain_text_once_it_has_signed() -> None:
    source = senders.twitch("x", secret="S")
    body, time = b'{"challenge":"pogchamp-kappa-360noscope-vohiyo"}', "2027-01-15T08:00:00Z"
    headers = [
        ("Twitch-Eventsub-Message-Id", "m1"),
        ("Twitch-Eventsub-Message-Timestamp", time),
        ("Twitch-Eventsub-Message-Signature", "sha256=" + mac(b"m1" + time.encode() + body)),
    ]
    kind = ("Twitch-Eventsub-Message-Type", "webhook_callback_verification")
    request = Request("POST", "https://x.test", [*headers, kind], body)
    assert check(source, request) == Reply(200, TEXT, "pogchamp-kappa-360noscope-vohiyo")
    assert check(source, replace(request, headers=headers)) == Accepted("m1")
    assert isinstance(check(source, replace(request, headers=[*headers[:2], kind])), Refused)


def test_line_is_answered_when_it_looks_whether_we_are_there() -> None:
    source = senders.line("x", secret="S")
    body = b'{"destination":"U1","events":[]}'
    signature = base64.b64encode(bytes.fromhex(mac(body))).decode()
    assert check(source, Request("POST", "", [("X-Line-Signature", signature)], body)) == Reply(200, TEXT, "")
    assert isinstance(check(source, Request("POST", "", [], body)), Refused)


def test_the_token_of_notion_is_noted_for_a_person_and_nothing_else_is() -> None:
    source = senders.notion("x", secret="S")
    verdict = source.check(Request("POST", "", [], b'{"verification_token":"secret_tMrl1"}'), {}, NOW)
    assert verdict == Reply(200, TEXT, "")
    assert isinstance(verdict, Reply)
    assert verdict.note == "the verification token is secret_tMrl1"
    for token in ('"a\\nb"', '""', "5", "null", '"secret é"', f'"{"a" * 201}"'):
        body = f'{{"verification_token":{token}}}'.encode()
        assert isinstance(check(source, Request("POST", "", [], body)), Refused)


def test_what_adyen_and_tbank_want_to_read_is_carried_by_their_sources() -> None:
    assert senders.adyen("x").answer == Reply(200, TEXT, "[accepted]")
    assert senders.tbank("x").answer == Reply(200, TEXT, "OK")
    assert {preset.__name__ for preset in senders.PRESETS if preset("x").answer} == {"adyen", "tbank"}


@pytest.mark.parametrize("preset", [senders.slack, senders.discord, senders.twilio])
def test_an_answer_can_be_given_where_a_sender_may_want_one(preset: object) -> None:
    answer = Reply(200, "text/xml", "<Response/>")
    assert preset("x", answer=answer).answer == answer  # type: ignore[operator]
