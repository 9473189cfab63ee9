"""Senders whose signature stands in the body. It is stored with the body, so that what it covers matters all the more."""

from __future__ import annotations

from tidemill.model import Reply
from tidemill.senders.settings_of import named
from tidemill.source import Source
from tidemill.verify import Signed, fields_digest, hmac_signature, json_path, json_paths
from tidemill.verify.handshakes import TEXT
from tidemill.verify.times import TOLERANCE


def mailgun(name: str = "mailgun", *, secret: str = "", tolerance: float | None = TOLERANCE) -> Source:
    """Mailgun; the secret is the webhook signing key. A time and a token are signed, and nothing of what the event says."""
    signed = Signed(
        "$.signature.signature",
        "{ts}{json:signature.token}",
        time="$.signature.timestamp",
        tolerance=tolerance,
    )
    verify = hmac_signature(signed, secret=secret or named(name))
    return Source(name, verify, json_path("signature.token"), register="Sending, Webhooks")


def tbank(name: str = "tbank", *, secret: str = "") -> Source:
    """T-Bank; the secret is the terminal's password."""
    verify = fields_digest("Token", secret=secret or named(name), secret_field="Password")
    key = json_paths("PaymentId", "Status")
    answer = Reply(200, TEXT, "OK")
    return Source(name, verify, key, answer=answer, register="the terminal's notifications, or NotificationURL in Init")


def adyen(name: str = "adyen", *, secret: str = "") -> Source:
    """Adyen's standard webhook; the secret is the HMAC key, in hex. Eight fields of each item are signed, the others not."""
    fields = (
        "pspReference", "originalReference", "merchantAccountCode", "merchantReference", "amount.value", "amount.currency",
        "eventCode", "success",
    )  # fmt: skip
    items = "notificationItems[*].NotificationRequestItem"
    signed = Signed(
        "$.additionalData.hmacSignature",
        ":".join(f"{{json:{field}}}" for field in fields),
        encoding="base64",
        each=items,
    )
    verify = hmac_signature(signed, secret=secret or named(name), key="hex")
    key = json_paths("eventCode", "pspReference", each=items)
    answer = Reply(200, TEXT, "[accepted]")
    return Source(name, verify, key, answer=answer, register="Customer Area: Developers, Webhooks, Standard webhook")
