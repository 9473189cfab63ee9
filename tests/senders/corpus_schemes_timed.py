"""How the senders sign that put a time into what they sign."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

from tests.senders import corpus_officials as official
from tests.senders.corpus import Scheme, base64_text, milliseconds, seconds
from tests.senders.corpus_schemes import AS_TEXT, BODIES, CAPITALS, FORM, LARGE, MULTIBYTE, NO_KEY, ONE_VALUE

AHEAD = {f"time {name}": "both ways" for name in ("too far ahead", "of next year")}
JOINED = {f"two signatures, joined: {name}": "one value" for name in ("bad, good", "good, bad")}


# What Python's int() and float() take for a number.
INTEGERS = "with a plus, with an underscore, in digits of another script"
FLOATS = f"{INTEGERS}, with a fraction, with an exponent"


def twice(*headers: str) -> dict[str, str]:
    """The companions of which the package sees the last value."""
    return {f"{header} twice, bad first": "one value" for header in headers}


def spelled(names: str, when: str) -> dict[str, str]:
    return {f"time {name}{when}": "only digits" for name in names.split(", ")}


# B21: while a secret is replaced, a header has several signatures.
SPACED = {
    f"header: {names}, spaced": "white space"
    for names in ("time good bad", "time bad good", "good time", "bad time good", "time good bad bad", "time odd good")
}

stripe = Scheme(
    "stripe",
    "Stripe-Signature",
    (*BODIES, LARGE, b""),
    signed="{time}.{body}",
    form="t={time},v1={sig}",
    clock=seconds,
    official=official.stripe,
    differs=ONE_VALUE
    | JOINED
    | AS_TEXT
    | CAPITALS
    | AHEAD
    | SPACED
    | {"time of thirty digits": "both ways", "header: time later good": "one value"}
    | spelled(INTEGERS, ", after signing"),
)
paddle = Scheme(
    "paddle",
    "Paddle-Signature",
    BODIES,
    signed="{time}:{body}",
    form="ts={time};h1={sig}",
    clock=seconds,
    tolerance=official.PADDLE_TOLERANCE,
    options={"tolerance": official.PADDLE_TOLERANCE},
    official=official.paddle,
    differs=ONE_VALUE
    | NO_KEY
    | AS_TEXT
    | CAPITALS
    | SPACED
    | {"header: later time good": "one value", "header: time odd good": "other names"}
    | spelled(INTEGERS, ", after signing"),
)
slack = Scheme(
    "slack",
    "X-Slack-Signature",
    (*BODIES, b"command=%2Fping&text=hello+w%C3%B6rld&trigger_id=13345224609.738474920.8088930838d88f008e0", FORM, b""),
    signed="v0:{time}:{body}",
    form="v0={sig}",
    companions=(("X-Slack-Request-Timestamp", "{time}"),),
    clock=seconds,
    official=official.slack,
    differs=ONE_VALUE | AS_TEXT | CAPITALS | twice("X-Slack-Request-Timestamp") | spelled(INTEGERS, ""),
)


def _key(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix("whsec_"))


WHSEC = tuple("whsec_" + base64.b64encode(bytes(range(start, start + 24))).decode() for start in (7, 60))


def standard(preset: str, prefix: str, **changes: object) -> Scheme:
    return Scheme(
        preset,
        f"{prefix}-signature",
        (*BODIES, LARGE, b""),
        signed="{id}.{time}.{body}",
        form="v1,{sig}",
        encode=base64_text,
        key=_key,
        keyless="whsec_",
        secrets=WHSEC,
        spoiled=("whsec_@@@@", "whsec_é", "whsec_A"),
        companions=((f"{prefix}-id", "{id}"), (f"{prefix}-timestamp", "{time}")),
        clock=seconds,
        **changes,
    )


LOOSE = ("in another spelling of its bytes", "with junk in it", "in quotes", "longer by one", "twice over")


def lenient(prefix: str) -> dict[str, str]:
    """How the package of Standard Webhooks is laxer than its specification."""
    return (
        ONE_VALUE
        | AS_TEXT
        | twice(f"{prefix}-id", f"{prefix}-timestamp")
        | spelled(FLOATS, ", after signing")
        | {f"signature {name}": "strict base64" for name in LOOSE}
    )


standardwebhooks = standard("standardwebhooks", "webhook", official=official.standardwebhooks, differs=lenient("webhook"))
svix = standard("svix", "svix", official=official.svix, differs=lenient("svix"))
svix_unbranded = standard("svix", "webhook", official=official.svix, differs=lenient("webhook"), label="svix unbranded")
openai = standard(
    "openai",
    "webhook",
    official=official.openai,
    differs=ONE_VALUE
    | AS_TEXT
    | twice("webhook-id", "webhook-timestamp")
    | spelled(INTEGERS, "")
    | NO_KEY
    | {
        "time half a second too old": "fractions",
        "prefix missing": "with its version",
        "header: v1 {good}": "with its version",
    },
)
gitlab = standard("gitlab", "webhook")

hubspot = Scheme(
    "hubspot",
    "X-HubSpot-Signature-v3",
    (b'[{"eventId":1,"subscriptionId":12,"occurredAt":1800000000000}]', *BODIES, b""),
    signed="{method}{url}{body}{time}",
    encode=base64_text,
    companions=(("X-HubSpot-Request-Timestamp", "{time}"),),
    clock=milliseconds,
    official=official.hubspot,
    differs=ONE_VALUE
    | NO_KEY
    | AS_TEXT
    | AHEAD
    | {"time at its edge, old": "the edge"}
    | twice("X-HubSpot-Request-Timestamp")
    | spelled(FLOATS, ""),
)


# These have no package on PyPI that checks a request.
def _rfc3339(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.000000000Z")


LINEAR_BODIES = (
    b'{"action":"create","type":"Issue","webhookTimestamp":@TIME@,"webhookId":"w1"}',
    '{"webhookTimestamp": @TIME@, "data":{"title":"Grüße 🌍"}}'.encode(),
)
linear = Scheme("linear", "Linear-Signature", LINEAR_BODIES, clock=milliseconds, tolerance=60, raw=False)
calendly = Scheme(
    "calendly",
    "Calendly-Webhook-Signature",
    (*BODIES, LARGE),
    signed="{time}.{body}",
    form="t={time},v1={sig}",
    clock=seconds,
    tolerance=180,
)
zoom = Scheme(
    "zoom",
    "x-zm-signature",
    BODIES,
    signed="v0:{time}:{body}",
    form="v0={sig}",
    companions=(("x-zm-request-timestamp", "{time}"),),
    clock=seconds,
)
twitch = Scheme(
    "twitch",
    "Twitch-Eventsub-Message-Signature",
    (BODIES[0], MULTIBYTE, LARGE),
    signed="{id}{time}{body}",
    form="sha256={sig}",
    companions=(("Twitch-Eventsub-Message-Id", "{id}"), ("Twitch-Eventsub-Message-Timestamp", "{time}")),
    clock=_rfc3339,
    tolerance=600,
)

SCHEMES = (
    stripe,
    paddle,
    slack,
    standardwebhooks,
    svix,
    svix_unbranded,
    openai,
    gitlab,
    hubspot,
    linear,
    calendly,
    zoom,
    twitch,
)
