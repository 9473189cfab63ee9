"""A delivery of each sender, signed by hand."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from tidemill import Accepted, Refused, Reply, Request, senders
from tidemill.source import Source

NOW = 1_800_000_000.0
TIME = "1800000000"
SECRET = "correct-horse-7"
WHSEC = "whsec_" + base64.b64encode(b"0123456789abcdef01234567").decode()
ADYEN_KEY = "44782def547aaa06c910c43932b1eb0c71fc68d9d0c057550c48ec2acf6ba056"
URL = "https://hooks.example.test/hooks/x?a=1"
SETTINGS = {"S": f"another-secret, {SECRET}", "W": f"whsec_{'A' * 32},{WHSEC}", "A": f"00ff,{ADYEN_KEY}"}


@dataclass(frozen=True)
class Sample:
    source: Source
    body: bytes
    headers: list[tuple[str, str]]
    key: str | None = None

    @property
    def request(self) -> Request:
        return Request("POST", URL, self.headers, self.body)

    def check(self, request: Request, now: float = NOW) -> Accepted | Refused | Reply:
        return self.source.check(request, SETTINGS, now)


def mac(text: bytes, algorithm: str = "sha256", key: bytes = SECRET.encode()) -> bytes:
    return hmac.new(key, text, algorithm).digest()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def of_body(
    make: Callable[..., Source],
    header: str,
    show: Callable[[bytes], str],
    body: bytes,
    key: str | None,
    algorithm: str = "sha256",
) -> Sample:
    return Sample(make("x", secret="S"), body, [(header, show(mac(body, algorithm)))], key)


def with_(sample: Sample, *headers: tuple[str, str]) -> Sample:
    return replace(sample, headers=[*sample.headers, *headers])


def standard(make: Callable[..., Source], prefix: str) -> Sample:
    body = b'{"type":"a"}'
    shown = b64(mac(b"msg_1." + TIME.encode() + b"." + body, key=b"0123456789abcdef01234567"))
    headers = [
        (f"{prefix}-id", "msg_1"),
        (f"{prefix}-timestamp", TIME),
        (f"{prefix}-signature", f"v1a,ignored v1,{b64(bytes(32))} v1,{shown}"),
    ]
    return Sample(make("x", secret="W"), body, headers, "msg_1")


def prefixed(make: Callable[..., Source], signature: str, time: str, body: bytes, key: str | None) -> Sample:
    shown = "v0=" + mac(b"v0:" + TIME.encode() + b":" + body).hex()
    return Sample(make("x", secret="S"), body, [(signature, shown), (time, TIME)], key)


def paired(make: Callable[..., Source], header: str, form: str, text: bytes, body: bytes, key: str) -> Sample:
    shown = form.format(bad="00" * 32, good=mac(text).hex())
    return Sample(make("x", secret="S"), body, [(header, shown)], key)


def adyen_item(reference: str) -> dict[str, object]:
    text = f"{reference}::Shop:Order 1:1000:EUR:AUTHORISATION:true"
    return {
        "NotificationRequestItem": {
            "pspReference": reference,
            "merchantAccountCode": "Shop",
            "merchantReference": "Order 1",
            "amount": {"value": 1000, "currency": "EUR"},
            "eventCode": "AUTHORISATION",
            "success": "true",
            "additionalData": {"hmacSignature": b64(mac(text.encode(), key=bytes.fromhex(ADYEN_KEY)))},
        }
    }


def tbank_body() -> bytes:
    fields = {
        "TerminalKey": "T1",
        "Success": True,
        "Status": "CONFIRMED",
        "PaymentId": 7,
        "Amount": 1900,
        "DATA": {"a": "b"},
    }
    text = f"1900{SECRET}7CONFIRMEDtrueT1"  # Amount, Password, PaymentId, Status, Success, TerminalKey
    return json.dumps({**fields, "Token": hashlib.sha256(text.encode()).hexdigest()}).encode()


def hex_after(prefix: str) -> Callable[[bytes], str]:
    return lambda digest: prefix + digest.hex()


META = b'{"entry":[{"changes":[{"value":{"messages":[{"id":"wamid.1"},{"id":"wamid.2"}]}}]}]}'
MESSENGER = b'{"entry":[{"messaging":[{"message":{"mid":"m1"}}]}]}'
STATUS = b'{"entry":[{"changes":[{"value":{"statuses":[{"id":"wamid.1","status":"read"}]}}]}]}'
LINEAR = b'{"webhookTimestamp":1800000000000}'
CALENDLY = b'{"event":"invitee.created","payload":{"uri":"https://api.calendly.com/i/1"}}'
HUBSPOT = b'[{"eventId":1,"subscriptionId":2,"occurredAt":3},{"eventId":4,"subscriptionId":5,"occurredAt":6}]'
MAILGUN = {"timestamp": TIME, "token": "tok-1", "signature": mac(b"1800000000tok-1").hex()}
ADYEN = json.dumps({"live": "false", "notificationItems": [adyen_item("P1"), adyen_item("P2")]}).encode()
FORM = b"b=2&a=%C3%BC&b=1&b=2"

SAMPLES = {
    "github": with_(
        of_body(senders.github, "X-Hub-Signature-256", hex_after("sha256="), b"{}", "d-1"), ("X-GitHub-Delivery", "d-1")
    ),
    "github form": of_body(senders.github, "X-Hub-Signature-256", hex_after("sha256="), b"payload=%7B%7D", None),
    "bitbucket": with_(
        of_body(senders.bitbucket, "X-Hub-Signature", hex_after("sha256="), b"{}", "r-1"), ("X-Request-UUID", "r-1")
    ),
    "intercom": of_body(senders.intercom, "X-Hub-Signature", hex_after("sha1="), b'{"id":"n-1"}', "n-1", "sha1"),
    "whatsapp": of_body(senders.whatsapp, "X-Hub-Signature-256", hex_after("sha256="), META, "wamid.1,wamid.2"),
    "whatsapp status": of_body(senders.whatsapp, "X-Hub-Signature-256", hex_after("sha256="), STATUS, "wamid.1:read"),
    "meta": of_body(
        senders.meta, "X-Hub-Signature-256", hex_after("sha256="), MESSENGER, "m1"
    ),
    "shopify": with_(of_body(senders.shopify, "X-Shopify-Hmac-Sha256", b64, b"{}", "e-1"), ("X-Shopify-Event-Id", "e-1")),
    "shopify events": with_(of_body(senders.shopify, "shopify-hmac-sha256", b64, b"{}", "e-1"), ("shopify-event-id", "e-1")),
    "line": of_body(
        senders.line, "X-Line-Signature", b64, b'{"events":[{"webhookEventId":"01"},{"webhookEventId":"02"}]}', "01,02"
    ),
    "typeform": of_body(senders.typeform, "Typeform-Signature", lambda d: "sha256=" + b64(d), b'{"event_id":"t1"}', "t1"),
    "razorpay": with_(
        of_body(senders.razorpay, "X-Razorpay-Signature", bytes.hex, b"{}", "r1"), ("x-razorpay-event-id", "r1")
    ),
    "paystack": of_body(
        senders.paystack, "x-paystack-signature", bytes.hex, b'{"event":"charge","data":{"id":3}}', "charge:3", "sha512"
    ),
    "dropbox": of_body(senders.dropbox, "X-Dropbox-Signature", bytes.hex, b'{"delta":{"users":[1]}}', None),
    "linear": with_(of_body(senders.linear, "Linear-Signature", bytes.hex, LINEAR, "l1"), ("Linear-Delivery", "l1")),
    "notion": of_body(senders.notion, "X-Notion-Signature", hex_after("sha256="), b'{"id":"n1"}', "n1"),
    "stripe": paired(
        senders.stripe, "Stripe-Signature", f"t={TIME},v1={{bad}},v0={{good}},v1={{good}}", b'1800000000.{"id":"evt_1"}',
        b'{"id":"evt_1"}', "evt_1",
    ),
    "calendly": paired(
        senders.calendly, "Calendly-Webhook-Signature", f"t={TIME},v1={{good}}", b"1800000000." + CALENDLY, CALENDLY,
        "invitee.created:https://api.calendly.com/i/1",
    ),
    "paddle": paired(
        senders.paddle, "Paddle-Signature", f"ts={TIME};h1={{bad}};h1={{good}}", b'1800000000:{"event_id":"ev"}',
        b'{"event_id":"ev"}', "ev",
    ),
    "standardwebhooks": standard(senders.standardwebhooks, "webhook"),
    "svix": standard(senders.svix, "svix"),
    "svix by the standard": standard(senders.svix, "webhook"),
    "openai": standard(senders.openai, "webhook"),
    "gitlab": standard(senders.gitlab, "webhook"),
    "gitlab_token": Sample(
        senders.gitlab_token("x", secret="S"), b"{}", [("X-Gitlab-Token", SECRET), ("Idempotency-Key", "i-1")], "i-1"
    ),
    "slack": prefixed(senders.slack, "X-Slack-Signature", "X-Slack-Request-Timestamp", b'{"event_id":"Ev1"}', "Ev1"),
    "slack command": prefixed(
        senders.slack, "X-Slack-Signature", "X-Slack-Request-Timestamp", b"command=%2Fgo&trigger_id=1.2", "1.2"
    ),
    "zoom": prefixed(senders.zoom, "x-zm-signature", "x-zm-request-timestamp", b"{}", hashlib.sha256(b"{}").hexdigest()),
    "twitch": Sample(
        senders.twitch("x", secret="S"), b"{}",
        [
            ("Twitch-Eventsub-Message-Id", "m-1"), ("Twitch-Eventsub-Message-Timestamp", "2027-01-15T08:00:00.123456789Z"),
            ("Twitch-Eventsub-Message-Signature", "sha256=" + mac(b"m-12027-01-15T08:00:00.123456789Z{}").hex()),
        ],
        "m-1",
    ),
    "hubspot": Sample(
        senders.hubspot("x", secret="S"), HUBSPOT,
        [
            ("X-HubSpot-Request-Timestamp", TIME + "000"),
            ("X-HubSpot-Signature-v3", b64(mac(b"POST" + URL.encode() + HUBSPOT + TIME.encode() + b"000"))),
        ],
        "1:2:3,4:5:6",
    ),
    "square": Sample(
        senders.square("x", secret="S"), b'{"event_id":"s1"}',
        [("x-square-hmacsha256-signature", b64(mac(URL.encode() + b'{"event_id":"s1"}')))], "s1",
    ),
    "twilio": Sample(
        senders.twilio("x", secret="S"), FORM,
        [
            ("X-Twilio-Signature", b64(mac(f"{URL}aüb1b2".encode(), "sha1"))),
            ("I-Twilio-Idempotency-Token", "t-1"),
        ],
        "t-1",
    ),
    "telegram": Sample(
        senders.telegram("x", secret="S"), b'{"update_id":42}', [("X-Telegram-Bot-Api-Secret-Token", SECRET)], "42"
    ),
    "postmark": Sample(
        senders.postmark("x", secret="S"), b'{"RecordType":"Bounce","MessageID":"p1"}',
        [("Authorization", f"Basic {b64(SECRET.encode())}")], "Bounce:p1",
    ),
    "msgraph": Sample(
        senders.msgraph("x", secret="S"), json.dumps({"value": [{"clientState": SECRET}] * 2}).encode(), []
    ),
    "mailgun": Sample(senders.mailgun("x", secret="S"), json.dumps({"signature": MAILGUN}).encode(), [], "tok-1"),
    "tbank": Sample(senders.tbank("x", secret="S"), tbank_body(), [], "7:CONFIRMED"),
    "adyen": Sample(senders.adyen("x", secret="A"), ADYEN, [], "AUTHORISATION:P1,AUTHORISATION:P2"),
}  # fmt: skip
