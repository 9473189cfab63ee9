"""Senders that sign a time with the body: a delivery that somebody saw is worth nothing a few minutes later."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from tidemill.model import Accepted, Reply, Request
from tidemill.senders.settings_of import named
from tidemill.settings import secrets_in
from tidemill.source import Source
from tidemill.verify import (
    Check,
    Signed,
    after,
    any_of,
    body_hash,
    echo_json,
    first_of,
    form_field,
    header,
    header_is,
    hmac_signature,
    json_is,
    json_path,
    json_paths,
    json_reply,
    keyed,
    pairs,
    plain,
    versions,
)
from tidemill.verify.check import to_bytes
from tidemill.verify.handshakes import Handshake
from tidemill.verify.times import TOLERANCE


def stripe(name: str = "stripe", *, secret: str = "", tolerance: float | None = TOLERANCE) -> Source:
    """Stripe."""
    signed = Signed("Stripe-Signature", "{ts}.{body}", form=pairs("t", "v1"), tolerance=tolerance)
    verify = hmac_signature(signed, secret=secret or named(name))
    return Source(name, verify, json_path("id"), register="Dashboard: Developers, Webhooks, Add destination")


def calendly(name: str = "calendly", *, secret: str = "", tolerance: float | None = 180) -> Source:
    """Calendly."""
    signed = Signed("Calendly-Webhook-Signature", "{ts}.{body}", form=pairs("t", "v1"), tolerance=tolerance)
    verify = hmac_signature(signed, secret=secret or named(name))
    return Source(name, verify, json_paths("event", "payload.uri"), register="POST /webhook_subscriptions with signing_key")


def paddle(name: str = "paddle", *, secret: str = "", tolerance: float | None = TOLERANCE) -> Source:
    """Paddle Billing. Its own package allows five seconds, which a cold start may take."""
    signed = Signed("Paddle-Signature", "{ts}:{body}", form=pairs("ts", "h1", ";"), tolerance=tolerance)
    verify = hmac_signature(signed, secret=secret or named(name))
    return Source(name, verify, json_path("event_id"), register="Developer Tools, Notifications, New destination")


def standardwebhooks(name: str = "standardwebhooks", *, secret: str = "", tolerance: float | None = TOLERANCE) -> Source:
    """Whoever follows https://www.standardwebhooks.com."""
    verify = _standard("webhook", secret or named(name), tolerance)
    return Source(name, verify, register="as the sender says; the secret begins with whsec_")


def svix(name: str = "svix", *, secret: str = "", tolerance: float | None = TOLERANCE) -> Source:
    """Whoever sends by Svix (Clerk, Resend and others): `svix-` headers, or those of Standard Webhooks."""
    secret = secret or named(name)
    verify = any_of(_standard("svix", secret, tolerance), _standard("webhook", secret, tolerance))
    return Source(name, verify, register="the sender's dashboard, Webhooks: signing secret")


def openai(name: str = "openai", *, secret: str = "", tolerance: float | None = TOLERANCE) -> Source:
    """OpenAI."""
    verify = _standard("webhook", secret or named(name), tolerance)
    return Source(name, verify, register="the project: Settings, Webhooks")


def gitlab(name: str = "gitlab", *, secret: str = "", tolerance: float | None = TOLERANCE) -> Source:
    """GitLab with a signing token; for the older secret token see `gitlab_token`."""
    verify = _standard("webhook", secret or named(name), tolerance)
    return Source(name, verify, register="project or group: Settings, Webhooks: signing token")


def _standard(prefix: str, secret: str, tolerance: float | None) -> Check:
    signed = Signed(
        f"{prefix}-signature",
        f"{{header:{prefix}-id}}.{{ts}}.{{body}}",
        encoding="base64",
        form=versions("v1"),
        time=f"{prefix}-timestamp",
        tolerance=tolerance,
    )
    return keyed(hmac_signature(signed, secret=secret, key="whsec"), header(f"{prefix}-id"))


def slack(
    name: str = "slack", *, secret: str = "", tolerance: float | None = TOLERANCE, answer: Reply | None = None
) -> Source:
    """Slack: events, slash commands, interactions; the secret is the signing secret. A slash command wants a status of 200:
    `answer=Reply(200, "text/plain", "")`."""
    signed = Signed(
        "X-Slack-Signature",
        "v0:{ts}:{body}",
        form=plain("v0="),
        time="X-Slack-Request-Timestamp",
        tolerance=tolerance,
    )
    verify = after(
        hmac_signature(signed, secret=secret or named(name)),
        echo_json("challenge", json_is("type", "url_verification")),
    )
    key = first_of(json_path("event_id"), form_field("trigger_id"))
    return Source(name, verify, key, answer=answer, register="api.slack.com: the app, Event Subscriptions; Slash Commands")


def zoom(name: str = "zoom", *, secret: str = "", tolerance: float | None = TOLERANCE) -> Source:
    """Zoom; the secret is the app's secret token. A delivery has no id, but its body tells the time to a millisecond."""
    signed = Signed(
        "x-zm-signature",
        "v0:{ts}:{body}",
        form=plain("v0="),
        time="x-zm-request-timestamp",
        tolerance=tolerance,
    )
    secret = secret or named(name)
    check = hmac_signature(signed, secret=secret)
    verify = after(check, _zoom_validation(check, secret))
    return Source(name, verify, body_hash, register="App Marketplace: the app, Feature, Event Subscriptions")


def _zoom_validation(check: Check, secret: str) -> Handshake:
    """Zoom asks for an HMAC of a text of its choice. Only once it has proven itself: else anybody could have a delivery of
    his own signed here."""
    wants, plain_token = json_is("event", "endpoint.url_validation"), json_path("payload.plainToken")

    def handshake(request: Request, settings: Mapping[str, str], now: float) -> Reply | None:
        token = plain_token(request)
        if not wants(request) or not isinstance(token, str):
            return None
        # With several secrets, Zoom knows the one that it has signed with.
        known = secrets_in(settings.get(secret, ""))
        used = next(one for one in known if isinstance(check(request, {secret: one}, now), Accepted))
        encrypted = hmac.digest(to_bytes(used), to_bytes(token), "sha256").hex()
        return json_reply({"plainToken": token, "encryptedToken": encrypted})

    return handshake


def twitch(name: str = "twitch", *, secret: str = "", tolerance: float | None = 600) -> Source:
    """Twitch EventSub."""
    kind = "Twitch-Eventsub-Message-Type"
    identity = "Twitch-Eventsub-Message-Id"
    signed = Signed(
        "Twitch-Eventsub-Message-Signature",
        f"{{header:{identity}}}{{ts}}{{body}}",
        form=plain("sha256="),
        time="Twitch-Eventsub-Message-Timestamp",
        unit="rfc3339",
        tolerance=tolerance,
    )
    verify = after(
        hmac_signature(signed, secret=secret or named(name)),
        echo_json("challenge", header_is(kind, "webhook_callback_verification")),
    )
    return Source(name, verify, header(identity), register="POST /helix/eventsub/subscriptions with transport.secret")
