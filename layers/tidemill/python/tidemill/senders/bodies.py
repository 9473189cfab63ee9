"""Senders that sign the raw body and nothing else: no time, so that a delivery can be replayed by whoever saw it."""

from __future__ import annotations

from tidemill.model import Reply, Request
from tidemill.senders.settings_of import named
from tidemill.source import Source
from tidemill.verify import (
    Signed,
    after,
    any_of,
    before,
    constant,
    echo_query,
    first_of,
    header,
    hmac_sha256,
    hmac_signature,
    json_is,
    json_path,
    json_paths,
    keyed,
    plain,
)
from tidemill.verify.handshakes import TEXT


def github(name: str = "github", *, secret: str = "") -> Source:
    """GitHub. A webhook with the content type form signs its raw `payload=...`."""
    verify = hmac_sha256("X-Hub-Signature-256", secret=secret or named(name), prefix="sha256=")
    return Source(name, verify, header("X-GitHub-Delivery"), register="repository or organisation: Settings, Webhooks")


def bitbucket(name: str = "bitbucket", *, secret: str = "") -> Source:
    """Bitbucket Cloud and Data Center."""
    verify = hmac_sha256("X-Hub-Signature", secret=secret or named(name), prefix="sha256=")
    return Source(name, verify, header("X-Request-UUID"), register="repository: Repository settings, Webhooks")


def intercom(name: str = "intercom", *, secret: str = "") -> Source:
    """Intercom, which signs with HMAC-SHA1; the secret is the app's client secret."""
    verify = hmac_signature(Signed("X-Hub-Signature", form=plain("sha1=")), secret=secret or named(name), algorithm="sha1")
    return Source(name, verify, json_path("id"), register="Developer Hub: the app, Configure, Webhooks")


def whatsapp(name: str = "whatsapp", *, secret: str = "", verify_token: str = "") -> Source:
    """WhatsApp Cloud API; the secret is the app secret, `verify_token` names the setting with the token of the handshake."""
    register = "Meta for Developers: the app, WhatsApp, Configuration: callback URL and verify token"
    return _meta(name, secret, verify_token, register)


def meta(name: str = "meta", *, secret: str = "", verify_token: str = "") -> Source:
    """Meta's other products (Messenger, Instagram, pages, leads), as `whatsapp`."""
    return _meta(name, secret, verify_token, "Meta for Developers: the app, Webhooks: callback URL and verify token")


def _meta(name: str, secret: str, verify_token: str, register: str) -> Source:
    token = verify_token or named(name, "VERIFY_TOKEN")
    verify = before(
        echo_query("hub.challenge", "GET", {"hub.mode": "subscribe"}, "hub.verify_token", token),
        hmac_sha256("X-Hub-Signature-256", secret=secret or named(name), prefix="sha256="),
        secrets=(token,),
    )
    value = "entry[*].changes[*].value"
    key = first_of(
        json_path(f"{value}.messages[*].id"),
        json_paths("id", "status", each=f"{value}.statuses[*]"),
        json_path("entry[*].messaging[*].message.mid"),
        json_path(f"{value}.leadgen_id"),
    )
    return Source(name, verify, key, register=register)


def shopify(name: str = "shopify", *, secret: str = "") -> Source:
    """Shopify; the newer events have headers without `X-`."""
    secret = secret or named(name)
    verify = any_of(
        keyed(hmac_sha256("X-Shopify-Hmac-Sha256", secret=secret, encoding="base64"), header("X-Shopify-Event-Id")),
        keyed(hmac_sha256("shopify-hmac-sha256", secret=secret, encoding="base64"), header("shopify-event-id")),
    )
    return Source(name, verify, register="admin: Settings, Notifications, Webhooks; or the app's shopify.app.toml")


def line(name: str = "line", *, secret: str = "") -> Source:
    """LINE; the secret is the channel secret. Its check of the address is a signed delivery without events."""
    verify = after(
        hmac_sha256("X-Line-Signature", secret=secret or named(name), encoding="base64"),
        constant(Reply(200, TEXT, ""), json_is("events", [])),
    )
    return Source(name, verify, json_path("events[*].webhookEventId"), register="LINE Developers: the channel")


def typeform(name: str = "typeform", *, secret: str = "") -> Source:
    """Typeform."""
    verify = hmac_sha256("Typeform-Signature", secret=secret or named(name), prefix="sha256=", encoding="base64")
    return Source(name, verify, json_path("event_id"), register="the form: Connect, Webhooks, Edit: secret")


def razorpay(name: str = "razorpay", *, secret: str = "") -> Source:
    """Razorpay."""
    verify = hmac_sha256("X-Razorpay-Signature", secret=secret or named(name))
    return Source(name, verify, header("x-razorpay-event-id"), register="Dashboard: Account & Settings, Webhooks")


def paystack(name: str = "paystack", *, secret: str = "") -> Source:
    """Paystack, which signs with HMAC-SHA512; the secret is the secret key."""
    verify = hmac_signature(Signed("x-paystack-signature"), secret=secret or named(name), algorithm="sha512")
    return Source(name, verify, json_paths("event", "data.id"), register="Dashboard: Settings, API Keys & Webhooks")


def dropbox(name: str = "dropbox", *, secret: str = "") -> Source:
    """Dropbox; the secret is the app secret. Two changes of one account have the same body, so there is no dedup key: a
    repetition tells of nothing new, and nothing is lost."""
    verify = before(echo_query("challenge", "GET"), hmac_sha256("X-Dropbox-Signature", secret=secret or named(name)))
    return Source(name, verify, register="App Console: the app, Webhooks")


def linear(name: str = "linear", *, secret: str = "", tolerance: float | None = 60) -> Source:
    """Linear, whose time stands in the body."""
    signed = Signed("Linear-Signature", time="$.webhookTimestamp", unit="ms", tolerance=tolerance)
    verify = hmac_signature(signed, secret=secret or named(name))
    return Source(name, verify, header("Linear-Delivery"), register="Settings, API, Webhooks")


def notion(name: str = "notion", *, secret: str = "") -> Source:
    """Notion; the secret is the verification token, which Notion sends once, unsigned. It stands in the log line of that
    handshake, for a person to copy: it is read there as long as the setting does not have it, and masked afterwards."""
    verify = before(_verification, hmac_sha256("X-Notion-Signature", secret=secret or named(name), prefix="sha256="))
    return Source(name, verify, json_path("id"), register="the integration: Webhooks, Verify, token from the log")


def _verification(request: Request, settings: object, now: float) -> Reply | None:
    token = json_path("verification_token")(request)
    return Reply(200, TEXT, "", note=f"the verification token is {token}") if _is_token(token) else None


def _is_token(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.replace("_", "").isalnum() and len(value) <= 200
