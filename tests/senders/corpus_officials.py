"""What the senders' official packages say of a request, under a clock that is set.

Each function takes the request, one secret as the receiver has it, and the epoch second that it is; the answer is the
package's, and so is whatever it raises. The headers come to a package as most frameworks hand them over: one value a name,
the last one.
"""

from __future__ import annotations

from datetime import datetime, tzinfo
from types import SimpleNamespace
from unittest import mock
from urllib.parse import parse_qs

from tidemill import Request

from tests.senders.corpus import public_url


def github(request: Request, secret: str, now: float) -> bool:
    from gidgethub import sansio

    sansio.validate_event(request.body, signature=_headers(request)["x-hub-signature-256"], secret=secret)
    return True


def line(request: Request, secret: str, now: float) -> bool:
    from linebot.v3.webhook import SignatureValidator

    return bool(SignatureValidator(secret).validate(request.body.decode(), _headers(request)["x-line-signature"]))


def razorpay(request: Request, secret: str, now: float) -> bool:
    from razorpay.utility import Utility

    signature = _headers(request)["x-razorpay-signature"]
    return bool(Utility().verify_webhook_signature(request.body.decode(), signature, secret))


def stripe(request: Request, secret: str, now: float) -> bool:
    from stripe import _webhook

    with mock.patch.object(_webhook, "time", SimpleNamespace(time=lambda: now)):
        return _webhook.WebhookSignature.verify_header(request.body, _headers(request)["stripe-signature"], secret, 300)


def paddle(request: Request, secret: str, now: float) -> bool:
    from paddle_billing.Notifications import Secret, Verifier

    given = SimpleNamespace(headers={"Paddle-Signature": _headers(request)["paddle-signature"]}, body=request.body)
    with mock.patch("paddle_billing.Notifications.Verifier.time", lambda: now):
        return bool(Verifier(PADDLE_TOLERANCE).verify(given, Secret(secret)))


PADDLE_TOLERANCE = 5


def standardwebhooks(request: Request, secret: str, now: float) -> bool:
    from standardwebhooks import webhooks

    with mock.patch.object(webhooks, "datetime", _clock(now)):
        webhooks.Webhook(secret).verify(request.body, _headers(request), json_parse=False)
    return True


def svix(request: Request, secret: str, now: float) -> bool:
    from standardwebhooks import webhooks
    from svix.webhooks import Webhook

    with mock.patch.object(webhooks, "datetime", _clock(now)):
        Webhook(secret).verify(request.body, _headers(request))
    return True


def openai(request: Request, secret: str, now: float) -> bool:
    from openai.lib import _webhooks
    from openai.resources.webhooks import Webhooks

    with mock.patch.object(_webhooks, "time", SimpleNamespace(time=lambda: now)):
        Webhooks(mock.Mock()).verify_signature(request.body, _headers(request), secret=secret)
    return True


def slack(request: Request, secret: str, now: float) -> bool:
    from slack_sdk.signature import SignatureVerifier

    return SignatureVerifier(secret, SimpleNamespace(now=lambda: now)).is_valid_request(request.body, _headers(request))


def hubspot(request: Request, secret: str, now: float) -> bool:
    from hubspot.utils import signature

    headers = _headers(request)
    with mock.patch.object(signature, "datetime", _clock(now)):
        return bool(
            signature.Signature.is_valid(
                signature=headers["x-hubspot-signature-v3"],
                client_secret=secret,
                request_body=request.body.decode(),
                http_uri=public_url(request),
                http_method=request.method,
                signature_version="v3",
                timestamp=headers["x-hubspot-request-timestamp"],
            )
        )


def square(request: Request, secret: str, now: float) -> bool:
    from square.utils.webhooks_helper import verify_signature

    return verify_signature(
        request_body=request.body.decode(),
        signature_header=_headers(request)["x-square-hmacsha256-signature"],
        signature_key=secret,
        notification_url=public_url(request),
    )


def twilio(request: Request, secret: str, now: float) -> bool:
    from twilio.request_validator import RequestValidator

    headers, text = _headers(request), request.body.decode()
    json = headers.get("content-type") == "application/json"
    fields = text if json else _Fields(parse_qs(text, keep_blank_values=True))
    return bool(RequestValidator(secret).validate(public_url(request), fields, headers["x-twilio-signature"]))


def discord(request: Request, secret: str, now: float) -> bool:
    import discord_interactions

    headers = _headers(request)
    signature, timestamp = headers["x-signature-ed25519"], headers["x-signature-timestamp"]
    with mock.patch("builtins.print"):
        return discord_interactions.verify_key(request.body, signature, timestamp, secret)


def sendgrid(request: Request, secret: str, now: float) -> bool:
    from sendgrid.helpers.eventwebhook import EventWebhook, EventWebhookHeader

    headers = _headers(request)
    signature, timestamp = headers[EventWebhookHeader.SIGNATURE.lower()], headers[EventWebhookHeader.TIMESTAMP.lower()]
    return bool(EventWebhook(secret).verify_signature(request.body.decode(), signature, timestamp))


class _Fields(dict[str, list[str]]):
    """A form as Django's QueryDict shows it."""

    def getlist(self, name: str) -> list[str]:
        return self[name]


def _headers(request: Request) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers}


def _clock(now: float) -> type[datetime]:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.fromtimestamp(now, tz)

    return Clock
