"""The dedup key of a genuine delivery, sender by sender: the same for a repetition, another for another delivery."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from tidemill import Accepted, Refused, Request

from tests.senders import corpus_adyen as adyen
from tests.senders import corpus_in_body as inside
from tests.senders import corpus_plain as plain
from tests.senders import corpus_schemes as untimed
from tests.senders import corpus_schemes_keys as keys
from tests.senders import corpus_schemes_timed as timed
from tests.senders import corpus_twilio as twilio
from tests.senders.corpus import NOW, PUBLIC, SECRET, Scheme, Sender, source


def check(sender: Sender, sent: Request, setting: str = "") -> object:
    settings = {"S": setting or sender.configured(sender.secrets[0]), "PUBLIC_URL": PUBLIC}
    return source(sender.preset, sender.parameter, **sender.options).check(sent, settings, NOW)


def key_of(scheme: Scheme, document: object, *headers: tuple[str, str]) -> str | None:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    sent = scheme.send(scheme.parts(body))
    verdict = check(scheme, replace(sent, headers=[*sent.headers, *headers]))
    assert isinstance(verdict, Accepted), verdict
    return verdict.dedup_key


@pytest.mark.parametrize(
    ("scheme", "header"),
    [
        (untimed.github, "X-GitHub-Delivery"),
        (untimed.bitbucket, "X-Request-UUID"),
        (untimed.shopify, "X-Shopify-Event-Id"),
        (untimed.razorpay, "x-razorpay-event-id"),
        (timed.linear, "Linear-Delivery"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_header_that_is_not_signed_is_the_key(scheme: Scheme, header: str) -> None:
    """B20, B30: one value, in any case of its name, and none where there is none."""
    body = scheme.bodies[0]
    assert key_of(scheme, body, (header, "72d3162e-cc78-11e3-81ab")) == "72d3162e-cc78-11e3-81ab"
    assert key_of(scheme, body, (header.upper(), " 42 ")) == "42"
    assert key_of(scheme, body, (header, "a"), (header.lower(), "a")) == "a"
    assert key_of(scheme, body) is None
    assert key_of(scheme, body, (header, "")) is None
    sent = scheme.send(scheme.parts(body))
    for twice in ([(header, "a"), (header, "b")], [(header, "a,b")]):
        assert isinstance(check(scheme, replace(sent, headers=[*sent.headers, *twice])), Refused)


@pytest.mark.parametrize(
    "scheme",
    [timed.standardwebhooks, timed.svix, timed.svix_unbranded, timed.openai, timed.gitlab, timed.twitch],
    ids=lambda scheme: scheme.name,
)
def test_an_id_that_is_signed_is_the_key(scheme: Scheme) -> None:
    assert key_of(scheme, scheme.bodies[0]) == "delivery-1"


@pytest.mark.parametrize(
    ("scheme", "document", "key"),
    [
        (timed.stripe, {"id": "evt_1NG8Du2eZvKYlo2CUI79vXWy", "object": "event"}, "evt_1NG8Du2eZvKYlo2CUI79vXWy"),
        (timed.paddle, {"event_id": "evt_01", "notification_id": "ntf_01"}, "evt_01"),
        (timed.calendly, {"event": "invitee.created", "payload": {"uri": "https://api.example/i/1"}}, "invitee.created:https://api.example/i/1"),
        (timed.slack, {"event_id": "Ev08MFMKH6", "type": "event_callback"}, "Ev08MFMKH6"),
        (timed.slack, b"command=%2Fping&trigger_id=13345224609.738474920.8088", "13345224609.738474920.8088"),
        (untimed.intercom, {"id": "notif_1", "data": {"id": "x"}}, "notif_1"),
        (untimed.typeform, {"event_id": "LtWXD3crgy", "event_type": "form_response"}, "LtWXD3crgy"),
        (untimed.notion, {"id": "367cba44-b6f3-4c92-81e7-6a2e9659efd4"}, "367cba44-b6f3-4c92-81e7-6a2e9659efd4"),
        (untimed.square, {"event_id": "6a8f5f28", "merchant_id": "M"}, "6a8f5f28"),
        (untimed.paystack, {"event": "charge.success", "data": {"id": 302961}}, "charge.success:302961"),
        (untimed.line, {"events": [{"webhookEventId": "01H810YECXQQZ37VAXPF6H9E6T"}]}, "01H810YECXQQZ37VAXPF6H9E6T"),
        (untimed.meta, {"entry": [{"changes": [{"value": {"messages": [{"id": "wamid.HBg"}]}}]}]}, "wamid.HBg"),
        (untimed.whatsapp, {"entry": [{"changes": [{"value": {"messages": [{"id": "wamid.HBg"}]}}]}]}, "wamid.HBg"),
        (timed.hubspot, [{"eventId": 100, "subscriptionId": 12, "occurredAt": 1800000000000}], "100:12:1800000000000"),
        (keys.discord, {"id": "846462639134605312", "type": 2}, "846462639134605312"),
        (keys.sendgrid, [{"sg_event_id": "ZG9", "event": "open"}], "ZG9"),
    ],
)  # fmt: skip
def test_the_id_in_the_body_is_the_key(scheme: Scheme, document: object, key: str) -> None:
    assert key_of(scheme, document) == key


@pytest.mark.parametrize(
    ("scheme", "batch"),
    [
        (untimed.line, lambda *ids: {"events": [{"webhookEventId": one} for one in ids]}),
        (untimed.whatsapp, lambda *ids: {"entry": [{"changes": [{"value": {"messages": [{"id": one} for one in ids]}}]}]}),
        (timed.hubspot, lambda *ids: [{"eventId": one, "subscriptionId": 1, "occurredAt": 2} for one in ids]),
        (keys.sendgrid, lambda *ids: [{"sg_event_id": one} for one in ids]),
    ],
    ids=["line", "whatsapp", "hubspot", "sendgrid"],
)
def test_the_key_of_a_batch_is_made_of_all_its_ids(scheme: Scheme, batch) -> None:  # type: ignore[no-untyped-def]
    both = key_of(scheme, batch("a1", "b2"))
    assert both is not None
    assert "a1" in both and "b2" in both
    assert both == key_of(scheme, batch("a1", "b2"))
    others = [key_of(scheme, batch(*ids)) for ids in (("a1",), ("b2",), ("a1", "b3"), ("a1", "b2", "c3"), ("a1b2",))]
    assert both not in others
    assert len(set(others)) == len(others)


def test_without_all_the_parts_of_a_key_there_is_none() -> None:
    """B30: what lacks an id is never taken for a repetition of something else that lacks it."""
    assert key_of(untimed.line, {"events": [{"webhookEventId": "a1"}, {}]}) is None
    assert key_of(keys.sendgrid, [{"sg_event_id": "a1"}, {"sg_event_id": None}]) is None
    assert key_of(timed.hubspot, [{"eventId": 1, "occurredAt": 2}]) is None
    assert key_of(untimed.paystack, {"event": "charge.success", "data": {}}) is None
    assert key_of(timed.calendly, {"event": "invitee.created", "payload": {"uri": ""}}) is None


@pytest.mark.parametrize("document", [{"id": None}, {"id": ""}, {"id": False}, {"id": {}}, {}, [], b"no", b""], ids=repr)
def test_a_body_without_an_id_has_no_key(document: object) -> None:
    """B30: what has no id is never taken for a repetition."""
    assert key_of(timed.stripe, document) is None


def test_numbers_and_texts_are_one_space_of_keys() -> None:
    """B30."""
    assert key_of(timed.stripe, {"id": 42}) == key_of(timed.stripe, {"id": "42"}) == "42"


def test_a_long_key_becomes_its_sha256() -> None:
    """B32."""
    long = "e" * 501
    assert key_of(timed.stripe, {"id": long}) == hashlib.sha256(long.encode()).hexdigest()
    assert key_of(timed.stripe, {"id": "e" * 500}) == "e" * 500


def test_zoom_has_no_id_and_its_key_is_the_hash_of_the_body() -> None:
    body = b'{"event":"meeting.started","event_ts":1800000000000}'
    assert key_of(timed.zoom, body) == hashlib.sha256(body).hexdigest()


def test_two_changes_of_one_account_of_dropbox_are_not_one() -> None:
    """B31: their bodies are equal, and they have no id."""
    assert key_of(untimed.dropbox, {"list_folder": {"accounts": ["dbid:1"]}}) is None


def test_the_token_of_twilio_is_the_key() -> None:
    body = b"CallSid=CA1"
    sent = twilio.posted(body, twilio.signed(PUBLIC + twilio.PATH, body))
    assert check(twilio.twilio, sent) == Accepted()
    with_token = replace(sent, headers=[*sent.headers, ("I-Twilio-Idempotency-Token", "9f1c")])
    assert check(twilio.twilio, with_token) == Accepted("9f1c")


def test_the_senders_that_sign_in_the_body_have_their_keys_there() -> None:
    two = adyen.item_of(pspReference="8515131751004933", eventCode="CAPTURE")
    assert check(adyen.adyen, inside.posted(adyen.batch(two))) == Accepted("CAPTURE:8515131751004933")
    both = check(adyen.adyen, inside.posted(adyen.batch(adyen.item_of(), two)))
    assert isinstance(both, Accepted)
    assert both.dedup_key is not None
    assert "AUTHORISATION:7914073381342284" in both.dedup_key and "CAPTURE:8515131751004933" in both.dedup_key
    good = inside.mailgun_body()
    assert check(inside.mailgun, inside.posted(good)) == Accepted(good["signature"]["token"])
    assert check(inside.tbank, inside.posted(inside.tbank_body())) == Accepted("2006896:CONFIRMED")


def test_the_senders_that_sign_nothing_have_keys_all_the_same() -> None:
    def posted(body: bytes, *headers: tuple[str, str]) -> Request:
        return plain.posted(body, *headers, source_ip="185.71.76.1")

    token = ("X-Gitlab-Token", SECRET)
    assert check(plain.gitlab_token, posted(b"{}", token, ("Idempotency-Key", "f5e2"))) == Accepted("f5e2")
    assert check(plain.telegram, posted(b'{"update_id":17}', ("X-Telegram-Bot-Api-Secret-Token", SECRET))) == Accepted("17")
    credentials = ("Authorization", plain.basic(plain.postmark.secrets[0]))
    bounce = posted(b'{"RecordType":"Bounce","MessageID":"883953f4"}', credentials)
    assert check(plain.postmark, bounce) == Accepted("Bounce:883953f4")
    changed = posted(json.dumps({"value": [{"clientState": SECRET, "resource": "Users/1"}]}).encode())
    assert check(plain.msgraph, changed) == Accepted()
    paid = posted(b'{"event":"payment.succeeded","object":{"id":"22e18a2f"}}')
    assert check(plain.yookassa, paid) == Accepted("payment.succeeded:22e18a2f")
