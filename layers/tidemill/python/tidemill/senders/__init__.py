"""The senders that Tidemill knows: each function gives a Source, verified as its sender signs.

    stripe = senders.stripe()                    # at /hooks/stripe, with the secret in STRIPE_WEBHOOK_SECRET
    berlin = senders.shopify("shopify-berlin")   # at /hooks/shopify-berlin, with SHOPIFY_BERLIN_WEBHOOK_SECRET

`name` is the source's, `secret`, `verify_token`, `public_key` and `webhook_id` are names of settings, `tolerance` is in
seconds, both ways (None: any time). docs/senders.md has what each signs.
"""

from tidemill.senders.addressed import hubspot, square, twilio
from tidemill.senders.asymmetric import discord, paypal, sendgrid
from tidemill.senders.bodies import (
    bitbucket,
    dropbox,
    github,
    intercom,
    line,
    linear,
    meta,
    notion,
    paystack,
    razorpay,
    shopify,
    typeform,
    whatsapp,
)
from tidemill.senders.inside import adyen, mailgun, tbank
from tidemill.senders.signing import sign
from tidemill.senders.sns import sns
from tidemill.senders.timed import (
    calendly,
    gitlab,
    openai,
    paddle,
    slack,
    standardwebhooks,
    stripe,
    svix,
    twitch,
    zoom,
)
from tidemill.senders.unsigned import gitlab_token, msgraph, postmark, telegram, yookassa

PRESETS = (
    adyen, bitbucket, calendly, discord, dropbox, github, gitlab, gitlab_token, hubspot, intercom, line, linear, mailgun,
    meta, msgraph, notion, openai, paddle, paypal, paystack, postmark, razorpay, sendgrid, shopify, slack, sns, square,
    standardwebhooks, stripe, svix, tbank, telegram, twilio, twitch, typeform, whatsapp, yookassa, zoom,
)  # fmt: skip

__all__ = [
    "PRESETS",
    "adyen",
    "bitbucket",
    "calendly",
    "discord",
    "dropbox",
    "github",
    "gitlab",
    "gitlab_token",
    "hubspot",
    "intercom",
    "line",
    "linear",
    "mailgun",
    "meta",
    "msgraph",
    "notion",
    "openai",
    "paddle",
    "paypal",
    "paystack",
    "postmark",
    "razorpay",
    "sendgrid",
    "shopify",
    "sign",
    "slack",
    "sns",
    "square",
    "standardwebhooks",
    "stripe",
    "svix",
    "tbank",
    "telegram",
    "twilio",
    "twitch",
    "typeform",
    "whatsapp",
    "yookassa",
    "zoom",
]  # fmt: skip
