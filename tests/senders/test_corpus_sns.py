"""Amazon SNS: what its key has signed, for our topics, with a certificate from its own host."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from tidemill import Accepted, Refused, senders

from tests.senders.corpus import NOW, another, same_bytes
from tests.senders.corpus_certificates import (
    KEY,
    OTHER_KEY,
    SNS_URL,
    TOPIC,
    Fields,
    Host,
    certificate,
    confirmation,
    notification,
    posted,
    signed,
    sns,
    without,
)


def verdict(fields: object, *topics: str, host: Host | None = None) -> object:
    return sns(host or Host(), *topics).check(posted(fields), {}, NOW)


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize(
    "fields",
    [
        notification(),
        without(notification(), "Subject"),
        notification(Message=""),
        notification(Message="line\nSubject\nforged?"),
        notification(MessageAttributes={"kind": {"Type": "String", "Value": "x"}}),
        notification(TopicArn=f"{TOPIC}.fifo", SequenceNumber="1"),
        confirmation(),
        confirmation("UnsubscribeConfirmation"),
    ],
    ids=lambda fields: f"{fields['Type']} {len(str(fields))}",
)
def test_what_sns_has_signed_is_genuine(fields: Fields, version: str) -> None:
    assert verdict(signed(fields, version=version), TOPIC, f"{TOPIC}.fifo") == Accepted(fields["MessageId"])


@pytest.mark.parametrize("field", ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type", "Signature"])
@pytest.mark.parametrize("change", ["changed", "gone", "null", "a number", "a list", "empty"])
def test_a_field_of_a_notification_that_was_tampered_with_is_refused(field: str, change: str) -> None:
    good = signed(notification())
    values = {"changed": another(good[field], 3), "null": None, "a number": 7, "a list": [good[field]], "empty": ""}
    bad = without(good, field) if change == "gone" else good | {field: values[change]}
    assert isinstance(verdict(bad, TOPIC, str(bad.get("TopicArn"))), Refused)


@pytest.mark.parametrize(
    "field", ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type", "Signature"]
)
@pytest.mark.parametrize("change", ["changed", "gone"])
def test_a_field_of_a_confirmation_that_was_tampered_with_is_refused(field: str, change: str) -> None:
    good = signed(confirmation())
    bad = without(good, field) if change == "gone" else good | {field: another(good[field], len(good[field]) - 5)}
    assert isinstance(verdict(bad, TOPIC, str(bad.get("TopicArn"))), Refused)


@pytest.mark.parametrize("field", ["UnsubscribeURL", "Other"])
def test_what_is_not_signed_may_be_anything(field: str) -> None:
    """So nothing may be done with the UnsubscribeURL."""
    assert verdict(signed(notification()) | {field: "https://evil.test"}) == Accepted(notification()["MessageId"])


def test_a_notification_made_of_a_confirmation_and_the_other_way_round_is_refused() -> None:
    assert isinstance(verdict(signed(confirmation()) | {"Type": "Notification"}), Refused)
    assert isinstance(verdict(signed(notification()) | {"Type": "SubscriptionConfirmation"}), Refused)


def test_a_line_moved_from_the_message_to_the_subject_is_refused() -> None:
    """The text that is signed is lines of names and values, and a value may have lines, too."""
    good = signed(without(notification(Message="a\nMessageId\nforged"), "Subject"))
    moved = {"Message": "a", "MessageId": f"forged\nMessageId\n{good['MessageId']}", "Subject": ""}
    assert isinstance(verdict(good | moved), Refused)


@pytest.mark.parametrize("version", ["0", "3", "", None, "2 ", "sha256", []])
def test_an_unknown_version_of_signatures_is_refused(version: object) -> None:
    assert isinstance(verdict(signed(notification()) | {"SignatureVersion": version}), Refused)


@pytest.mark.parametrize(("made", "said"), [("1", "2"), ("2", "1")])
def test_a_signature_of_one_version_is_none_of_another(made: str, said: str) -> None:
    assert isinstance(verdict(signed(notification(), version=made) | {"SignatureVersion": said}), Refused)


def test_a_signature_in_another_spelling_is_refused() -> None:
    good = signed(notification())
    sig = good["Signature"]
    spoiled = (sig.rstrip("="), sig[:-1], sig + "AA", sig[:8] + "!" + sig[8:], f" {sig}", f"{sig}\n", "é" + sig[1:])
    for bad in (same_bytes(sig), *spoiled):
        assert isinstance(verdict(good | {"Signature": bad}), Refused)


@pytest.mark.parametrize(
    "url",
    [
        "http://sns.eu-west-1.amazonaws.com/a.pem",
        "https://sns.eu-west-1.amazonaws.com.evil.test/a.pem",
        "https://evil.test/sns.eu-west-1.amazonaws.com/a.pem",
        "https://evil.test/?https://sns.eu-west-1.amazonaws.com/a.pem",
        "https://evil.test#https://sns.eu-west-1.amazonaws.com/a.pem",
        "https://sns.eu-west-1.amazonaws.com@evil.test/a.pem",
        "https://sns.eu-west-1.amazonaws.com:8443/a.pem",
        "https://sns.eu-west-1.amazonaws.com:443@evil.test/a.pem",
        "https://user@sns.eu-west-1.amazonaws.com/a.pem",
        "https://sns.eu-west-1.amazonaws.com\\@evil.test/a.pem",
        "https://sns.eu-west-1.amazonaws.com/a.pem\n",
        "https://sns.eu-west-1.amazonaws.com\n.evil.test/a.pem",
        " https://sns.eu-west-1.amazonaws.com/a.pem",
        "https://sns.eu-west-1.amazonaws.com/a.txt",
        "https://sns.eu-west-1.amazonaws.com/a.pem?x=.pem",
        "https://sns.eu-west-1.amazonaws.com/a.pem#b",
        "https://evilsns.eu-west-1.amazonaws.com/a.pem",
        "https://sns.evil.test/a.pem",
        "https://bucket.s3.eu-west-1.amazonaws.com/a.pem",
        "https://sns.eu-west-1.s3.amazonaws.com/a.pem",
        "https://sns..amazonaws.com/a.pem",
        "https://sns.é.amazonaws.com/a.pem",
        "https://SNS/a.pem",
        "file:///etc/ssl/cert.pem",
        "https:///a.pem",
        "//sns.eu-west-1.amazonaws.com/a.pem",
        "sns.eu-west-1.amazonaws.com/a.pem",
        "",
        None,
        7,
        [SNS_URL],
    ],
)
def test_a_certificate_from_anywhere_else_is_not_fetched(url: object) -> None:
    host = Host()
    assert isinstance(verdict(signed(notification(SigningCertURL=url)), host=host), Refused)
    assert host.asked == []


@pytest.mark.parametrize(
    "url",
    [SNS_URL, "https://sns.us-gov-west-1.amazonaws.com/S-1.pem", "https://sns.cn-north-1.amazonaws.com.cn/S-1.pem"],
)
def test_a_certificate_from_a_host_of_sns_is_fetched_there(url: str) -> None:
    host = Host()
    assert isinstance(verdict(signed(notification(SigningCertURL=url)), host=host), Accepted)
    assert host.asked == [url]


def test_a_topic_of_somebody_else_is_refused_before_anything_is_fetched() -> None:
    """Amazon signs for everybody."""
    host = Host()
    for topic in (TOPIC.replace("orders", "other"), TOPIC.replace("1234", "9999"), TOPIC + "x", TOPIC.upper(), "", "*"):
        for fields in (notification(TopicArn=topic), confirmation(TopicArn=topic)):
            assert isinstance(verdict(signed(fields), host=host), Refused)
    assert host.asked == []


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.test/?Action=ConfirmSubscription",
        "http://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription",
        "https://sns.eu-west-1.amazonaws.com.evil.test/?Action=ConfirmSubscription",
        "https://sns.eu-west-1.amazonaws.com@evil.test/?Action=ConfirmSubscription",
    ],
)
def test_a_subscribe_url_elsewhere_is_refused_though_it_is_signed(url: str) -> None:
    assert isinstance(verdict(signed(confirmation(SubscribeURL=url))), Refused)


@pytest.mark.parametrize(
    "answer",
    [
        OSError("no route"),
        TimeoutError(),
        ValueError("x"),
        b"",
        b"<html>",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        certificate(OTHER_KEY),
        certificate(ec.generate_private_key(ec.SECP256R1())),
        certificate(KEY) * 200,
    ],
    ids=["no route", "timeout", "error", "empty", "HTML", "broken", "another key", "no RSA", "too large"],
)
def test_without_the_right_certificate_nothing_is_genuine(answer: bytes | Exception) -> None:
    assert isinstance(verdict(signed(notification()), host=Host(answer)), Refused)


def test_a_certificate_is_fetched_once() -> None:
    host = Host()
    source = sns(host)
    for number in range(5):
        sent = posted(signed(notification(MessageId=f"id-{number}")))
        assert source.check(sent, {}, NOW + number) == Accepted(f"id-{number}")
    assert host.asked == [SNS_URL]


def test_a_certificate_that_could_not_be_fetched_is_fetched_again() -> None:
    host = Host(OSError("no route"))
    source, sent = sns(host), posted(signed(notification()))
    assert isinstance(source.check(sent, {}, NOW), Refused)
    host.answer = certificate(KEY)
    assert isinstance(source.check(sent, {}, NOW + 1), Accepted)


def test_what_could_not_be_fetched_costs_a_bounded_number_of_requests() -> None:
    host = Host(OSError("no such certificate"))
    source = sns(host)
    for number in range(100):
        url = f"https://sns.eu-west-1.amazonaws.com/{number}.pem"
        assert isinstance(source.check(posted(signed(notification(SigningCertURL=url))), {}, NOW), Refused)
    assert len(host.asked) < 20


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", b"null", b"7", b'"Notification"', b"Type=Notification", b"\xff", b"[" * 9000, b'{"Type":[]}'],
)
def test_a_body_that_is_no_notification_is_refused(body: bytes) -> None:
    assert isinstance(verdict(body), Refused)


def test_without_topics_nothing_is_genuine() -> None:
    source = senders.sns(name="sns", fetch=Host())
    for topics in ({}, {"SNS_TOPIC_ARNS": ""}, {"SNS_TOPIC_ARNS": " , "}):
        for topic in (TOPIC, "", " "):
            assert isinstance(source.check(posted(signed(notification(TopicArn=topic))), topics, NOW), Refused)
    assert isinstance(source.check(posted(signed(notification())), {"SNS_TOPIC_ARNS": f"other, {TOPIC}"}, NOW), Accepted)
