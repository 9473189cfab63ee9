"""Amazon SNS, which signs in the body and names the certificate there. It needs the package cryptography.

https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tidemill import handlers
from tidemill.http import check
from tidemill.model import Event, NewJob, Refused, Request
from tidemill.senders.settings_of import named
from tidemill.settings import secrets_in
from tidemill.source import Route, Source
from tidemill.verify import Certified, certificate_signature, json_path
from tidemill.verify.certificates import Fetch
from tidemill.verify.check import to_bytes
from tidemill.verify.reading import decoders, document_of

HOST = r"https://sns\.[a-z0-9-]{3,}\.amazonaws\.com(\.cn)?"

_notification = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
_confirmation = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
_signed = {
    "Notification": _notification,
    "SubscriptionConfirmation": _confirmation,
    "UnsubscribeConfirmation": _confirmation,
}
_algorithms = {"1": "sha1", "2": "sha256"}
_subscribe_url = re.compile(rf"{HOST}/\?[!-~]+")


def sns(name: str = "sns", *, topic_arns: Sequence[str] | None = None, fetch: Fetch | None = None) -> Source:
    """Amazon SNS over HTTPS (without raw message delivery). Anybody's topic is signed by the same Amazon: so only what comes
    from the topics of `topic_arns`, else of the setting `<SOURCE>_TOPIC_ARNS` (separated by commas), is genuine.

    A subscription to one of them is confirmed by a job of the kind `<source>.confirm`, which calls the SubscribeURL; routes
    of this source get the notifications alone.
    """
    setting = named(name, "TOPIC_ARNS")

    def read(request: Request, settings: Mapping[str, str], now: float) -> Certified | Refused:
        try:
            fields = document_of(request)
        except ValueError:
            return Refused("the body is not JSON")
        known = topic_arns if topic_arns is not None else secrets_in(settings.get(setting, ""))
        return _certified(fields, known) if isinstance(fields, dict) else Refused("the body is no JSON object")

    verify = certificate_signature(
        read,
        addresses=rf"{HOST}/[A-Za-z0-9._/-]+\.pem",
        fetch=fetch,
        secrets=(setting,) if topic_arns is None else (),
    )
    source = _Topics(name, verify, json_path("MessageId"), register="the topic: Create subscription, HTTPS, this address")
    kind = f"{name}.confirm"

    def confirmations(event: Event) -> list[NewJob]:
        fields = event.json
        if fields["Type"] != "SubscriptionConfirmation":
            return []
        return [NewJob(kind, {"topic": fields["TopicArn"], "url": fields["SubscribeURL"]}, key=fields["MessageId"])]

    source.routes.append(confirmations)
    # Under the module that the source stands in: whoever loads the one loads the other.
    handlers.declared.add((source.module, kind), source.module, handlers.Handler(kind, confirm))
    return source


def confirm(job: Any, ctx: Any) -> None:
    """Call the address by which a subscription is confirmed."""
    check(ctx.http.get(job.payload["url"]), f"confirming the subscription to {job.payload['topic']}")


class _Topics(Source):
    """A source whose routes get notifications alone."""

    def route(self, function: Route) -> Route:  # type: ignore[override]
        self.routes.append(_for_notifications(function))
        return function


def _for_notifications(function: Route) -> Route:
    return lambda event: function(event) if event.json["Type"] == "Notification" else ()


def _certified(fields: Mapping[str, Any], topic_arns: Sequence[str]) -> Certified | Refused:
    if (names := _signed.get(str(fields.get("Type")))) is None:
        return Refused("the Type is none of SNS")
    if fields.get("TopicArn") not in topic_arns:
        return Refused("the topic is not one of ours")
    # A notification may have no subject; one that is null stands for that.
    values = [(one, fields.get(one)) for one in names if one != "Subject" or fields.get(one) is not None]
    if not all(isinstance(value, str) for _, value in values):
        return Refused("a field that is signed is missing or no text")
    if "SubscribeURL" in names and not _subscribe_url.fullmatch(str(fields["SubscribeURL"])):
        return Refused("the SubscribeURL is not one of SNS")
    signature = decoders["base64"](str(fields.get("Signature")))
    if signature is None:
        return Refused("the Signature is not base64")
    if (algorithm := _algorithms.get(str(fields.get("SignatureVersion")))) is None:
        return Refused("the SignatureVersion is neither 1 nor 2")
    text = "".join(f"{one}\n{value}\n" for one, value in values)
    return Certified(str(fields.get("SigningCertURL")), signature, to_bytes(text), algorithm)
