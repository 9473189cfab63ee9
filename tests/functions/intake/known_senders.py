"""Sources of known senders, for the cases that are about how they sign."""

from __future__ import annotations

from collections.abc import Iterator

from tidemill import Event, NewJob, senders

SECRETS = {
    "GITHUB_WEBHOOK_SECRET": "github-secret-1",
    "STRIPE_WEBHOOK_SECRET": "whsec_stripe-secret-1",
    "TELEGRAM_WEBHOOK_SECRET": "telegram-secret-1",
    "TWILIO_WEBHOOK_SECRET": "twilio-token-1",
}

github, stripe, telegram, twilio = senders.github(), senders.stripe(), senders.telegram(), senders.twilio()


@github.route
@stripe.route
def one_job(event: Event) -> Iterator[NewJob]:
    yield NewJob("order", {"body": event.text})
