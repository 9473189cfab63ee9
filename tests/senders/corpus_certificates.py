"""The senders that name the certificate of their key in the delivery: Amazon SNS and PayPal, with a key of our own."""

from __future__ import annotations

import json
import zlib
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from tidemill import Request, Source, senders

from tests.senders.corpus import NOW, SEEN, base64_text

Fields = dict[str, Any]
TOPIC = "arn:aws:sns:eu-west-1:123456789012:orders"
SNS_URL = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-9c6465fa7f48f5cacd23014631ec1136.pem"
PAYPAL_URL = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-5edc0ebc"
WEBHOOK_ID = "8PT597110X687430LKGECATA"
KEY, OTHER_KEY = (rsa.generate_private_key(65537, 2048) for _ in range(2))


def certificate(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, host: str = "sns.amazonaws.com") -> bytes:
    """PEM of a certificate that is signed by itself."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    start = datetime.fromtimestamp(NOW, UTC) - timedelta(days=1)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=365))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(Encoding.PEM)


class Host:
    """Where certificates are fetched; `asked` has the addresses in order. It answers with `answer`, or raises it."""

    def __init__(self, answer: bytes | Exception | None = None) -> None:
        self.answer = certificate(KEY) if answer is None else answer
        self.asked: list[str] = []

    def __call__(self, url: str) -> bytes:
        self.asked.append(url)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def sns(host: Host, *topics: str) -> Source:
    return senders.sns(name="sns", topic_arns=topics or (TOPIC,), fetch=host)


def paypal(host: Host) -> Source:
    return senders.paypal(name="paypal", webhook_id="W", fetch=host)


def signed(fields: Fields, key: rsa.RSAPrivateKey = KEY, version: str = "2", only: tuple[str, ...] = ()) -> Fields:
    """The fields with the signature of SNS over its fields that are there, in the order of their names."""
    if fields["Type"] == "Notification":
        names = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
    else:
        names = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
    text = "".join(f"{name}\n{fields[name]}\n" for name in only or names if name in fields)
    algorithm = hashes.SHA1() if version == "1" else hashes.SHA256()
    signature = base64_text(key.sign(text.encode(), PKCS1v15(), algorithm))
    return fields | {"SignatureVersion": version, "Signature": signature}


def notification(**changes: object) -> Fields:
    return {
        "Type": "Notification",
        "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        "TopicArn": TOPIC,
        "Subject": "An order 🌍",
        "Message": '{"order": 17,\n "text": "Grüße"}',
        "Timestamp": "2027-01-15T08:00:00.000Z",
        "SigningCertURL": SNS_URL,
        "UnsubscribeURL": "https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe&SubscriptionArn=arn:1",
    } | changes


def confirmation(kind: str = "SubscriptionConfirmation", **changes: object) -> Fields:
    return {
        "Type": kind,
        "MessageId": "165545c9-2a5c-472c-8df2-7ff2be2b3b1b",
        "Token": "2336412f37",
        "TopicArn": TOPIC,
        "Message": "You have chosen to subscribe to the topic.",
        "SubscribeURL": f"https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=2336412f37",
        "Timestamp": "2027-01-15T08:00:00.000Z",
        "SigningCertURL": SNS_URL,
    } | changes


def without(fields: Fields, name: str) -> Fields:
    return {key: value for key, value in fields.items() if key != name}


def posted(fields: object) -> Request:
    body = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    return Request("POST", f"{SEEN}/hooks/x", [("Content-Type", "text/plain; charset=UTF-8")], body)


def paypal_request(
    body: bytes,
    key: rsa.RSAPrivateKey = KEY,
    webhook_id: str = WEBHOOK_ID,
    url: str = PAYPAL_URL,
    algorithm: str = "SHA256withRSA",
) -> Request:
    identity, time = "103e3700-8b0c-11e6-8695-6b62a8a99ac4", "2027-01-15T08:00:00Z"
    text = f"{identity}|{time}|{webhook_id}|{zlib.crc32(body)}"
    headers = [
        ("PAYPAL-TRANSMISSION-ID", identity),
        ("PAYPAL-TRANSMISSION-TIME", time),
        ("PAYPAL-TRANSMISSION-SIG", base64_text(key.sign(text.encode(), PKCS1v15(), hashes.SHA256()))),
        ("PAYPAL-CERT-URL", url),
        ("PAYPAL-AUTH-ALGO", algorithm),
    ]
    return Request("POST", f"{SEEN}/hooks/x", headers, body)
