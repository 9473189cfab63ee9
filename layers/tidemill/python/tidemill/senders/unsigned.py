"""Senders that sign nothing: they send the secret itself, or are known by their network."""

from __future__ import annotations

from collections.abc import Sequence

from tidemill.senders.settings_of import named
from tidemill.source import Source
from tidemill.verify import (
    basic_auth,
    before,
    echo_query,
    first_of,
    from_networks,
    header,
    json_path,
    json_paths,
    json_secret,
    secret_header,
)

# As YooKassa's own package for Python has them (yookassa 3.13.0).
YOOKASSA_NETWORKS = (
    "77.75.153.0/25", "77.75.154.128/25", "77.75.156.11", "77.75.156.35", "185.71.76.0/27", "185.71.77.0/27",
    "2a02:5180:0:1509::/64", "2a02:5180:0:1533::/64", "2a02:5180:0:2655::/64", "2a02:5180:0:2669::/64",
)  # fmt: skip


def gitlab_token(name: str = "gitlab_token", *, secret: str = "") -> Source:
    """GitLab with a secret token, as older ones have it."""
    verify = secret_header("X-Gitlab-Token", secret=secret or named(name))
    return Source(name, verify, header("Idempotency-Key"), register="project or group: Settings, Webhooks: secret token")


def telegram(name: str = "telegram", *, secret: str = "") -> Source:
    """Telegram's Bot API."""
    verify = secret_header("X-Telegram-Bot-Api-Secret-Token", secret=secret or named(name))
    return Source(name, verify, json_path("update_id"), register="setWebhook with url and secret_token")


def postmark(name: str = "postmark", *, secret: str = "") -> Source:
    """Postmark; the setting holds `user:password`, and the address given to Postmark begins https://user:password@. A letter
    is opened and clicked often: those are told apart by their time."""
    key = first_of(json_paths("RecordType", "MessageID", "ReceivedAt"), json_paths("RecordType", "MessageID"))
    return Source(name, basic_auth(secret=secret or named(name)), key, register="the server's stream: Webhooks, Basic auth")


def msgraph(name: str = "msgraph", *, secret: str = "") -> Source:
    """Microsoft Graph; the secret is the clientState of the subscription, of at most 128 characters."""
    verify = before(
        echo_query("validationToken", "POST"),
        json_secret("clientState", secret=secret or named(name), each="value[*]"),
    )
    return Source(name, verify, register="POST /subscriptions with notificationUrl and clientState")


def yookassa(name: str = "yookassa", *, networks: Sequence[str] = YOOKASSA_NETWORKS) -> Source:
    """YooKassa, which signs nothing: fetch the payment back in the job, and believe that alone."""
    key = json_paths("event", "object.id")
    return Source(name, from_networks(networks), key, register="the shop: Integration, HTTP notifications")
