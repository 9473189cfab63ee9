"""Handshakes: the exact answer to a genuine one, and no answer to any other."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import replace

import pytest
from tidemill import Accepted, Refused, Reply, Request, senders

from tests.senders import corpus_schemes, corpus_schemes_keys, corpus_schemes_timed
from tests.senders.corpus import NOW, OTHER, SECRET, SEEN, Scheme, source

TOKEN = "verify-me-9"
SETTINGS = {"S": SECRET, "T": TOKEN}


def get(query: str, method: str = "GET", body: bytes = b"") -> Request:
    return Request(method, f"{SEEN}/hooks/x?{query}", [("Content-Type", "text/plain")], body)


def meta(query: str, method: str = "GET", settings: dict[str, str] = SETTINGS) -> object:
    return senders.meta(name="m", secret="S", verify_token="T").check(get(query, method), settings, NOW)


def whatsapp(query: str) -> object:
    return senders.whatsapp(name="w", secret="S", verify_token="T").check(get(query), SETTINGS, NOW)


def test_meta_gets_its_challenge_back() -> None:
    query = f"hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={TOKEN}"
    assert meta(query) == whatsapp(query) == Reply(200, "text/plain", "1158201444")


def test_the_challenge_comes_back_as_text_that_was_percent_encoded() -> None:
    query = f"hub.mode=subscribe&hub.verify_token={TOKEN}&hub.challenge=a%2Bb+c%26%C3%BC%3C"
    assert meta(query) == Reply(200, "text/plain", "a+b c&ü<")


@pytest.mark.parametrize("token", [TOKEN, "other"])
def test_one_of_several_tokens_is_enough(token: str) -> None:
    query = f"hub.mode=subscribe&hub.challenge=1&hub.verify_token={token}"
    assert meta(query, settings={"S": SECRET, "T": f"other, {TOKEN}\n"}) == Reply(200, "text/plain", "1")


@pytest.mark.parametrize(
    "query",
    [
        "hub.mode=subscribe&hub.challenge=1&hub.verify_token=wrong",
        f"hub.mode=subscribe&hub.challenge=1&hub.verify_token={TOKEN}x",
        "hub.mode=subscribe&hub.challenge=1&hub.verify_token=",
        "hub.mode=subscribe&hub.challenge=1&hub.verify_token=%C3%A9",
        "hub.mode=subscribe&hub.challenge=1&hub.verify_token=%ff%00",
        "hub.mode=subscribe&hub.challenge=1",
        f"hub.mode=subscribe&hub.challenge=1&hub.verify_token=wrong&hub.verify_token={TOKEN}",
        f"hub.mode=subscribe&hub.challenge=1&hub.verify_token={SECRET}",
        f"hub.mode=subscribe&hub.verify_token={TOKEN}",
        "",
    ],
)
def test_meta_gets_nothing_with_a_wrong_token_or_without_a_challenge(query: str) -> None:
    assert isinstance(meta(query), Refused)


@pytest.mark.parametrize("tokens", ["", " ", ",", None])
def test_without_a_configured_token_no_handshake_is_answered(tokens: str | None) -> None:
    """B14."""
    settings = {"S": SECRET} | ({} if tokens is None else {"T": tokens})
    for sent in ("", "%20", ","):
        assert isinstance(meta(f"hub.mode=subscribe&hub.challenge=1&hub.verify_token={sent}", settings=settings), Refused)


def test_a_post_is_never_a_handshake_of_meta() -> None:
    assert isinstance(meta(f"hub.mode=subscribe&hub.challenge=1&hub.verify_token={TOKEN}", "POST"), Refused)


def test_dropbox_gets_its_challenge_back() -> None:
    dropbox = source("dropbox")
    assert dropbox.check(get("challenge=abc%2Fdef"), SETTINGS, NOW) == Reply(200, "text/plain", "abc/def")
    assert isinstance(dropbox.check(get("challenge=abc", "POST", b"{}"), SETTINGS, NOW), Refused)
    assert isinstance(dropbox.check(get("other=abc"), SETTINGS, NOW), Refused)


def test_microsoft_graph_gets_its_validation_token_back() -> None:
    msgraph = source("msgraph")
    asked = get("validationToken=Validation%3A+Testing+client+application+reachability+RequestId%3A+1", "POST")
    expected = Reply(200, "text/plain", "Validation: Testing client application reachability RequestId: 1")
    assert msgraph.check(asked, SETTINGS, NOW) == expected
    assert isinstance(msgraph.check(get("validationtoken=1", "POST"), SETTINGS, NOW), Refused)


def signed(scheme: Scheme, document: object, secret: str = SECRET, now: float = NOW, **headers: str) -> object:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    sent = scheme.send(replace(scheme.parts(body, now), secret=secret))
    sent = replace(sent, headers=[*sent.headers, *((name.replace("_", "-"), value) for name, value in headers.items())])
    setting = scheme.configured(SECRET)
    return source(scheme.preset, scheme.parameter, **scheme.options).check(sent, {"S": setting}, NOW)


CHALLENGE = {"type": "url_verification", "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P", "token": "old"}


def test_slack_gets_its_challenge_back_once_it_has_proven_itself() -> None:
    slack = corpus_schemes_timed.slack
    assert signed(slack, CHALLENGE) == Reply(200, "text/plain", CHALLENGE["challenge"])
    assert isinstance(signed(slack, CHALLENGE, OTHER), Refused)
    assert isinstance(signed(slack, CHALLENGE, now=NOW - 301), Refused)


@pytest.mark.parametrize(
    "document",
    [
        {"type": "event_callback", "challenge": "x", "event_id": "Ev1"},
        {"challenge": "x", "event_id": "Ev1"},
        {"type": "url_verification", "event_id": "Ev1"},
        {"type": "url_verification", "challenge": None, "event_id": "Ev1"},
        {"type": ["url_verification"], "challenge": "x", "event_id": "Ev1"},
    ],
)
def test_what_is_no_handshake_of_slack_is_a_delivery(document: object) -> None:
    assert signed(corpus_schemes_timed.slack, document) == Accepted("Ev1")


VALIDATION = {"event": "endpoint.url_validation", "payload": {"plainToken": "qgg8vlvZRS6UYooatFL8Aw"}, "event_ts": 1}


def test_zoom_gets_its_token_back_with_the_hmac_of_it() -> None:
    reply = signed(corpus_schemes_timed.zoom, VALIDATION)
    assert isinstance(reply, Reply)
    assert (reply.status, reply.content_type) == (200, "application/json")
    encrypted = hmac.new(SECRET.encode(), b"qgg8vlvZRS6UYooatFL8Aw", hashlib.sha256).hexdigest()
    assert json.loads(reply.body) == {"plainToken": "qgg8vlvZRS6UYooatFL8Aw", "encryptedToken": encrypted}


def test_zoom_gets_no_hmac_before_it_has_proven_itself() -> None:
    """Whoever could have any text signed could have a delivery signed."""
    zoom = corpus_schemes_timed.zoom
    assert isinstance(signed(zoom, VALIDATION, OTHER), Refused)
    bare = Request("POST", f"{SEEN}/hooks/x", [], json.dumps(VALIDATION).encode())
    assert isinstance(source("zoom").check(bare, SETTINGS, NOW), Refused)


@pytest.mark.parametrize("payload", [{}, {"plainToken": None}, {"plainToken": {}}, None, []])
def test_a_validation_of_zoom_without_a_token_has_no_answer_and_raises_nothing(payload: object) -> None:
    verdict = signed(corpus_schemes_timed.zoom, {"event": "endpoint.url_validation", "payload": payload})
    assert isinstance(verdict, Accepted)


def test_while_a_secret_of_zoom_is_replaced_the_hmac_is_of_the_one_that_zoom_has() -> None:
    zoom = corpus_schemes_timed.zoom
    sent = zoom.send(zoom.parts(json.dumps(VALIDATION).encode()))
    for setting in (f"{OTHER},{SECRET}", f"{SECRET},{OTHER}"):
        reply = source("zoom").check(sent, {"S": setting}, NOW)
        assert isinstance(reply, Reply)
        expected = hmac.new(SECRET.encode(), b"qgg8vlvZRS6UYooatFL8Aw", hashlib.sha256).hexdigest()
        assert json.loads(reply.body)["encryptedToken"] == expected


VERIFICATION = "webhook_callback_verification"


def test_twitch_gets_its_challenge_back_as_plain_text() -> None:
    twitch = corpus_schemes_timed.twitch
    document = {"challenge": "pogchamp-kappa-360noscope-vohiyo", "subscription": {"id": "f1"}}
    reply = signed(twitch, document, Twitch_Eventsub_Message_Type=VERIFICATION)
    assert reply == Reply(200, "text/plain", "pogchamp-kappa-360noscope-vohiyo")
    assert isinstance(signed(twitch, document, OTHER, Twitch_Eventsub_Message_Type=VERIFICATION), Refused)
    assert signed(twitch, document, Twitch_Eventsub_Message_Type="notification") == Accepted("delivery-1")


def test_a_ping_of_discord_is_answered_with_a_pong() -> None:
    discord = corpus_schemes_keys.discord
    assert signed(discord, {"id": "1", "type": 1}) == Reply(200, "application/json", '{"type":1}')
    assert signed(discord, b'{ "type" : 1 }') == Reply(200, "application/json", '{"type":1}')
    assert isinstance(signed(discord, {"id": "1", "type": 1}, OTHER), Refused)


@pytest.mark.parametrize("kind", [2, 3, "1", True, 1.5, None, [1]])
def test_what_is_no_ping_of_discord_is_a_delivery(kind: object) -> None:
    assert signed(corpus_schemes_keys.discord, {"id": "1", "type": kind}) == Accepted("1")


def test_a_check_of_line_is_answered_and_makes_no_event() -> None:
    line = corpus_schemes.line
    reply = signed(line, {"destination": "U1", "events": []})
    assert isinstance(reply, Reply)
    assert reply.status == 200
    assert isinstance(signed(line, {"destination": "U1", "events": []}, OTHER), Refused)


def test_a_verification_token_of_notion_is_answered_though_it_is_not_signed() -> None:
    unsigned = Request("POST", f"{SEEN}/hooks/x", [], b'{"verification_token":"secret_tMrlL1qK5vuQAh1b6cZGhFChZTSY"}')
    reply = source("notion").check(unsigned, {}, NOW)
    assert isinstance(reply, Reply)
    assert (reply.status, "secret_" in reply.body) == (200, False)
    for body in (b'{"verification_token":null}', b'{"verification_token":["a"]}', b'{"id":"e1"}', b""):
        assert isinstance(source("notion").check(replace(unsigned, body=body), SETTINGS, NOW), Refused)
