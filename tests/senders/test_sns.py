"""Amazon SNS, with a certificate that is made here."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from tidemill import Accepted, Refused, Request, Source, senders

from tests.senders.certifying import NOW, OTHER_RSA, PEM, RSA, Fetching

TOPIC = "arn:aws:sns:eu-central-1:123456789012:orders"
SNS_CERTIFICATE = "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem"


def fetching() -> Fetching:
    return Fetching({SNS_CERTIFICATE: PEM})


def sns_request(version: str = "1", key: rsa.RSAPrivateKey = RSA, **fields: Any) -> Request:
    body: dict[str, Any] = {
        "Type": "Notification", "MessageId": "m-1", "TopicArn": TOPIC, "Message": "Hallo \u00fc\n",
        "Timestamp": "2027-01-15T08:00:00.000Z",
    } | fields  # fmt: skip
    names = sorted({*body} & {"Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"})
    text = "".join(f"{name}\n{body[name]}\n" for name in names if body[name] is not None)
    algorithm = hashes.SHA1() if version == "1" else hashes.SHA256()
    signature = base64.b64encode(key.sign(text.encode(), padding.PKCS1v15(), algorithm)).decode()
    told = {"SignatureVersion": version, "Signature": signature, "SigningCertURL": SNS_CERTIFICATE}
    return Request("POST", "https://x.test", [], json.dumps({**told, **body}).encode())


def changed(request: Request, **fields: Any) -> Request:
    return replace(request, body=json.dumps(json.loads(request.body) | fields).encode())


SUBSCRIBE = {
    "Type": "SubscriptionConfirmation",
    "Token": "tok",
    "SubscribeURL": "https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=a&Token=tok",
}


def sns(**options: Any) -> Source:
    return senders.sns("x", **{"topic_arns": [TOPIC], "fetch": fetching(), **options})


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize(
    "fields", [{}, {"Subject": "An order"}, {"Subject": None}, SUBSCRIBE, SUBSCRIBE | {"Type": "UnsubscribeConfirmation"}]
)
def test_sns_is_genuine_in_both_versions_of_its_signature(version: str, fields: dict[str, Any]) -> None:
    assert sns().check(sns_request(version, **fields), {}, NOW) == Accepted("m-1")


@pytest.mark.parametrize(
    "field",
    ["Message", "MessageId", "Timestamp", "TopicArn", "Type", "Signature", "SignatureVersion", "SigningCertURL", "Subject"],
)
@pytest.mark.parametrize("value", ["x", "", "é", None, 5, [], {}, True])
def test_nothing_of_what_sns_signs_can_be_another(field: str, value: object) -> None:
    request = sns_request(Subject="An order")
    verdict = sns().check(changed(request, **{field: value}), {}, NOW)
    assert isinstance(verdict, Refused)
    assert "raised" not in verdict.reason


def test_a_topic_of_somebody_else_is_refused_before_anything_is_fetched() -> None:
    """Anybody's topic is signed by the same Amazon."""
    fetch = fetching()
    other = sns_request(TopicArn="arn:aws:sns:eu-central-1:999999999999:evil")
    for source in (sns(fetch=fetch), sns(fetch=fetch, topic_arns=[]), sns(fetch=fetch, topic_arns=None)):
        assert source.check(other, {}, NOW) == Refused("the topic is not one of ours")
    assert fetch.asked == []


def test_topics_can_be_listed_in_a_setting() -> None:
    source = sns(topic_arns=None)
    assert source.secrets == ("X_TOPIC_ARNS",)
    assert source.check(sns_request(), {"X_TOPIC_ARNS": f"arn:other, {TOPIC}"}, NOW) == Accepted("m-1")


@pytest.mark.parametrize(
    "url",
    [
        "https://example.test/?a=b",
        "http://sns.eu-central-1.amazonaws.com/?a",
        "https://sns.eu.amazonaws.com.example.test/?a",
        "",
    ],
)
def test_a_subscription_is_confirmed_at_amazons_own_address_alone(url: str) -> None:
    verdict = sns().check(sns_request(**SUBSCRIBE | {"SubscribeURL": url}), {}, NOW)
    assert verdict == Refused("the SubscribeURL is not one of SNS")


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{}", b"\xff", b'{"Type":"Notification"}'])
def test_what_is_none_of_sns_is_refused(body: bytes) -> None:
    verdict = sns().check(Request("POST", "", [], body), {}, NOW)
    assert isinstance(verdict, Refused)
    assert "raised" not in verdict.reason


def test_the_wrong_hash_for_the_version_is_refused() -> None:
    assert isinstance(sns().check(changed(sns_request("1"), SignatureVersion="2"), {}, NOW), Refused)
    assert isinstance(sns().check(sns_request(key=OTHER_RSA), {}, NOW), Refused)
