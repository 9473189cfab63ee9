"""Senders that sign with a private key. They need the package cryptography."""

from __future__ import annotations

from collections.abc import Mapping

from tidemill.model import Refused, Reply, Request
from tidemill.senders.settings_of import named
from tidemill.source import Source
from tidemill.verify import (
    Certified,
    Signed,
    after,
    certificate_signature,
    constant,
    json_is,
    json_path,
    json_reply,
    key_signature,
    single,
)
from tidemill.verify.certificates import Fetch
from tidemill.verify.reading import decoders
from tidemill.verify.templates import Content, Template
from tidemill.verify.times import TOLERANCE, fault

# Live and sandbox: a signature of the one is none of the other, since the id of the webhook is signed.
PAYPAL_CERTIFICATES = r"https://api(-m)?(\.sandbox)?\.paypal\.com/[A-Za-z0-9._/-]+"


def discord(
    name: str = "discord", *, public_key: str = "", tolerance: float | None = None, answer: Reply | None = None
) -> Source:
    """Discord's interactions; the setting `public_key` holds the application's public key, in hex. Discord waits three
    seconds for an answer: with `answer=Reply(200, "application/json", '{"type":5}')` it shows that one is coming, and a job
    can send it."""
    signed = Signed("X-Signature-Ed25519", "{ts}{body}", time="X-Signature-Timestamp", tolerance=tolerance)
    verify = after(
        key_signature("ed25519", signed, setting=public_key or named(name, "PUBLIC_KEY")),
        constant(json_reply({"type": 1}), json_is("type", 1)),
    )
    register = "Developer Portal: the application, Interactions Endpoint URL"
    return Source(name, verify, json_path("id"), answer=answer, register=register)


def sendgrid(name: str = "sendgrid", *, public_key: str = "", tolerance: float | None = TOLERANCE) -> Source:
    """SendGrid's event webhook; the setting `public_key` holds the verification key."""
    header = "X-Twilio-Email-Event-Webhook"
    signed = Signed(
        f"{header}-Signature",
        "{ts}{body}",
        encoding="base64",
        time=f"{header}-Timestamp",
        tolerance=tolerance,
    )
    verify = key_signature("ecdsa-p256", signed, setting=public_key or named(name, "PUBLIC_KEY"))
    return Source(name, verify, json_path("[*].sg_event_id"), register="Settings, Mail Settings, Event Webhook: signature")


def paypal(
    name: str = "paypal", *, webhook_id: str = "", fetch: Fetch | None = None, tolerance: float | None = None
) -> Source:
    """PayPal; the setting `webhook_id` holds the id that PayPal gave to the webhook. Of the body only a CRC-32 is signed,
    which protects it from accidents alone: fetch what matters back from PayPal, in the job."""
    setting = webhook_id or named(name, "WEBHOOK_ID")
    template = Template(f"{{header:PAYPAL-TRANSMISSION-ID}}|{{ts}}|{{config:{setting}}}|{{crc32}}")

    def read(request: Request, settings: Mapping[str, str], now: float) -> Certified | Refused:
        names = ("PAYPAL-CERT-URL", "PAYPAL-TRANSMISSION-SIG", "PAYPAL-TRANSMISSION-TIME", "PAYPAL-AUTH-ALGO")
        values = {one: single(request, one) for one in names}
        for one, value in values.items():
            if not isinstance(value, str):
                return value or Refused(f"there is no {one} header")
        url, shown, time, algorithm = (str(value) for value in values.values())
        if algorithm != "SHA256withRSA":
            return Refused("PAYPAL-AUTH-ALGO is not SHA256withRSA")
        if (signature := decoders["base64"](shown)) is None:
            return Refused("PAYPAL-TRANSMISSION-SIG is not base64")
        if (refused := fault(time, "rfc3339", tolerance, now)) is not None:
            return refused
        text = template.fill(Content(request, settings, "", time, None))
        return text if isinstance(text, Refused) else Certified(url, signature, text, "sha256")

    verify = certificate_signature(
        read, addresses=PAYPAL_CERTIFICATES, fetch=fetch, secrets=(setting,), headers=("PAYPAL-TRANSMISSION-SIG",)
    )
    return Source(name, verify, json_path("id"), register="Developer Dashboard: the app, Webhooks; it shows the id")
