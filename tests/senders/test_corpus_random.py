"""What no list of cases has: any change of one byte is seen, and nothing whatever makes a check raise."""

from __future__ import annotations

import string
from dataclasses import replace
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tidemill import Accepted, Refused, Reply, Request, Source, senders

from tests.senders import corpus_officials, corpus_schemes, corpus_schemes_keys, corpus_schemes_timed
from tests.senders import corpus_twilio as twilio
from tests.senders.corpus import HEX, NOW, PUBLIC, SECRET, SEEN, Scheme, source
from tests.senders.corpus_certificates import Host

SCHEMES = (*corpus_schemes.SCHEMES, *corpus_schemes_timed.SCHEMES, *corpus_schemes_keys.SCHEMES)
PRINTABLE = string.ascii_letters + string.digits + string.punctuation


def check(scheme: Scheme, sent: Request) -> object:
    made = source(scheme.preset, scheme.parameter, **scheme.options)
    return made.check(sent, {"S": scheme.configured(scheme.secrets[0]), "PUBLIC_URL": PUBLIC}, NOW)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
@settings(max_examples=30, deadline=None, database=None)
@given(data=st.data())
def test_any_byte_of_the_body_that_is_changed_is_seen(scheme: Scheme, data: st.DataObject) -> None:
    sent = scheme.send(scheme.parts(data.draw(st.sampled_from([body for body in scheme.bodies if body]))))
    at = data.draw(st.integers(0, len(sent.body) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != sent.body[at]))
    changed = replace(sent, body=sent.body[:at] + bytes([byte]) + sent.body[at + 1 :])
    assert isinstance(check(scheme, sent), Accepted)
    assert isinstance(check(scheme, changed), Refused)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
@settings(max_examples=30, deadline=None, database=None)
@given(data=st.data())
def test_any_character_of_a_signed_header_that_is_changed_is_seen(scheme: Scheme, data: st.DataObject) -> None:
    """Only the case of hexadecimal is free."""
    sent = scheme.send(scheme.parts(scheme.bodies[0]))
    which = data.draw(st.integers(0, len(sent.headers) - 1))
    name, value = sent.headers[which]
    at = data.draw(st.integers(0, len(value) - 1))
    free = {value[at].lower(), value[at].upper()} if value[at] in HEX and scheme.encode is bytes.hex else {value[at]}
    character = data.draw(st.sampled_from(PRINTABLE).filter(lambda drawn: drawn not in free))
    headers = [*sent.headers[:which], (name, value[:at] + character + value[at + 1 :]), *sent.headers[which + 1 :]]
    assert isinstance(check(scheme, replace(sent, headers=headers)), Refused)


NAMES = sorted(
    {header for scheme in SCHEMES for header in (scheme.header, *dict(scheme.companions))}
    | {"Authorization", "X-Gitlab-Token", "X-Telegram-Bot-Api-Secret-Token", "X-Twilio-Signature", "PAYPAL-CERT-URL"}
    | {"PAYPAL-TRANSMISSION-ID", "PAYPAL-TRANSMISSION-SIG", "PAYPAL-TRANSMISSION-TIME", "PAYPAL-AUTH-ALGO"}
    | {"Content-Type", "Content-Encoding", "Twitch-Eventsub-Message-Type", "X-GitHub-Delivery", ""}
)
anything = st.text(st.characters(exclude_categories=()), max_size=60)
VALUES = (
    f"t={int(NOW)},v1=00",
    f"ts={int(NOW)};h1=00",
    "v1,AAAA v1,",
    "sha256=00",
    "v0=",
    str(int(NOW)),
    f"{int(NOW)}000",
    "-1",
    "9" * 400,
    "Basic AAAA",
    "gzip",
    "br",
    "SHA256withRSA",
    "2027-01-15T08:00:00Z",
    "https://api.paypal.com/c",
    "webhook_callback_verification",
)
BODIES = (
    b'{"type":"url_verification","challenge":"x"}',
    b'{"type":1}',
    b'{"events":[]}',
    b'{"value":[]}',
    b'{"value":[{"clientState":7}]}',
    b'{"event":"endpoint.url_validation","payload":{"plainToken":"x"}}',
    b'{"verification_token":"x"}',
    b'{"Token":"00"}',
    b'{"signature":{"timestamp":"1800000000","token":"t","signature":"00"}}',
    b'{"Type":"Notification","TopicArn":"a"}',
    b'{"notificationItems":[{"NotificationRequestItem":{"additionalData":{"hmacSignature":"AAAA"}}}]}',
    b"[" * 5000,
    b"\xef\xbb\xbf{}",
    b'{"webhookTimestamp":1e400}',
    b'{"webhookTimestamp":NaN}',
    b'{"a":"\\ud800"}',
    b"\x1f\x8b\x08\x00",
)
QUERIES = (
    "hub.mode=subscribe&hub.challenge=1&hub.verify_token=x",
    "challenge=%ff",
    "bodySHA256=00",
    "bodySHA256=é",
    "a=%zz&&=;",
)
requests = st.builds(
    Request,
    st.sampled_from(["POST", "GET", "PUT", "post", "", "é"]),
    st.one_of(st.sampled_from([f"{SEEN}/hooks/x?{query}" for query in QUERIES]), anything),
    st.lists(st.tuples(st.sampled_from(NAMES) | anything, st.sampled_from(VALUES) | anything), max_size=12),
    st.one_of(st.binary(max_size=200), st.sampled_from(BODIES)),
    st.one_of(st.sampled_from(["192.0.2.1", "::1", "", "nowhere"]), anything),
)
APART = ("discord", "sendgrid", "sns", "paypal", "yookassa")  # their secret is another parameter
SOURCES = {preset.__name__: source(preset.__name__) for preset in senders.PRESETS if preset.__name__ not in APART} | {
    "discord": source("discord", "public_key"),
    "sendgrid": source("sendgrid", "public_key"),
    "sns": senders.sns(name="sns", topic_arns=("a",), fetch=Host(OSError())),
    "paypal": senders.paypal(name="paypal", webhook_id="S", fetch=Host(OSError())),
    "meta": source("meta", verify_token="T"),
    "whatsapp": source("whatsapp", verify_token="T"),
    "yookassa": source("yookassa", ""),
}
secret = st.one_of(st.just(SECRET), anything)
SETTINGS = st.fixed_dictionaries({}, optional={"S": secret, "T": anything, "PUBLIC_URL": anything})


@pytest.mark.parametrize("made", SOURCES.values(), ids=SOURCES)
@settings(max_examples=60, deadline=None, database=None)
@given(sent=requests, configured=SETTINGS)
def test_nothing_makes_a_verification_raise(made: Source, sent: Request, configured: dict[str, str]) -> None:
    """Asked itself, not by way of `check`, which would hide that it raises."""
    assert isinstance(made.verify(sent, configured, NOW), (Accepted, Refused, Reply))
    assert isinstance(made.check(sent, configured, NOW), (Accepted, Refused, Reply))


@settings(max_examples=300, deadline=None, database=None)
@given(sent=requests, which=st.sampled_from(list(SOURCES.values())))
def test_nothing_is_genuine_without_a_secret(sent: Request, which: Source) -> None:
    """B14."""
    blank = {"S": "", "T": " ", "W": ",", "PUBLIC_URL": PUBLIC}
    assert not isinstance(which.check(sent, blank, NOW), Accepted)


@settings(max_examples=100, deadline=None, database=None)
@given(fields=st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), max_size=8))
def test_any_form_of_twilio_is_read_as_its_package_reads_it(fields: list[tuple[str, str]]) -> None:
    body = urlencode(fields, errors="replace").encode()
    sent = twilio.posted(body, twilio.signed(PUBLIC + twilio.PATH, body))
    assert corpus_officials.twilio(sent, SECRET, NOW)
    assert isinstance(source("twilio").check(sent, {"S": SECRET, "PUBLIC_URL": PUBLIC}, NOW), Accepted)
