"""Senders that sign the address they call: it is made of `public_url`, or of the setting PUBLIC_URL, and path and query."""

from __future__ import annotations

from tidemill.model import Reply
from tidemill.senders.settings_of import named
from tidemill.source import Source
from tidemill.verify import (
    Signed,
    header,
    hmac_signature,
    json_path,
    json_paths,
    with_and_without_port,
    with_signs_decoded,
)
from tidemill.verify.times import TOLERANCE


def hubspot(name: str = "hubspot", *, secret: str = "", public_url: str = "", tolerance: float | None = TOLERANCE) -> Source:
    """HubSpot, version 3 of its signatures; the secret is the app's client secret."""
    signed = Signed(
        "X-HubSpot-Signature-v3",
        "{method}{url}{body}{ts}",
        encoding="base64",
        time="X-HubSpot-Request-Timestamp",
        unit="ms",
        tolerance=tolerance,
        public_url=public_url,
        spellings=with_signs_decoded,
    )
    verify = hmac_signature(signed, secret=secret or named(name))
    key = json_paths("eventId", "subscriptionId", "occurredAt", each="[*]")
    return Source(name, verify, key, register="the app: Webhooks, target URL")


def square(name: str = "square", *, secret: str = "", public_url: str = "") -> Source:
    """Square; the secret is the signature key of the subscription."""
    signed = Signed("x-square-hmacsha256-signature", "{url}{body}", encoding="base64", public_url=public_url)
    verify = hmac_signature(signed, secret=secret or named(name))
    return Source(name, verify, json_path("event_id"), register="Developer Console: the application, Webhooks")


def twilio(name: str = "twilio", *, secret: str = "", public_url: str = "", answer: Reply | None = None) -> Source:
    """Twilio; the secret is the auth token. A webhook for calls and texts wants TwiML:
    `answer=Reply(200, "text/xml", "<Response/>")`."""
    signed = Signed(
        "X-Twilio-Signature",
        "{url}{form}",
        encoding="base64",
        public_url=public_url,
        spellings=with_and_without_port,
    )
    verify = hmac_signature(signed, secret=secret or named(name), algorithm="sha1")
    key = header("I-Twilio-Idempotency-Token")
    return Source(name, verify, key, answer=answer, register="Console: the phone number or service, its webhook")
