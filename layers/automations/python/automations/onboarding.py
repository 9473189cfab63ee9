"""Onboarding: who signs up is charged, gets an account and a welcome, and, if it is not set up in a week, a nudge.

The site tells both: {"type": "customer.signed_up", "customer", "email", "plan"} and {"type": "customer.set_up", "customer"}.
"""

from datetime import timedelta

from tidemill import NewJob, PermanentError, Signal, check, handler

from automations.invoices import MAIL
from automations.site import elsewhere, site

CENTS = {"small": 900, "large": 4900}

elsewhere += ["customer.signed_up", "customer.set_up"]


@site.route
def customers(event):
    match event.json:
        case {"type": "customer.signed_up", "customer": str(customer), "email": str(email), "plan": str(plan)}:
            yield NewJob("onboarding", {"customer": customer, "email": email, "plan": plan}, key=customer)
        case {"type": "customer.set_up", "customer": str(customer)}:
            yield Signal(f"set-up:{customer}", {"at": event.received_at.isoformat()})
        case {"type": "customer.signed_up" | "customer.set_up"}:
            raise ValueError("customer, and of one who signs up email and plan, must be texts")


@handler("onboarding", limit=MAIL)
def onboard(job, ctx):
    customer, email, plan = (job.payload[name] for name in ("customer", "email", "plan"))
    cents = ctx.step("charge", charge, customer, plan)
    try:
        ctx.step("provision", provision, customer, plan)
    except PermanentError:
        ctx.step("refund", refund, customer, cents)
        raise
    ctx.step("welcome", mail, ctx, customer, email, "Welcome", f"Your {plan} account is open. Please set it up.")
    if ctx.wait_for(f"set-up:{customer}", timedelta(days=7)) is None:
        ctx.step("nudge", mail, ctx, customer, email, "Your account is waiting", "It is not set up yet. Can we help?")


def charge(customer, plan, connection):
    if plan not in CENTS:
        raise PermanentError(f"there is no plan {plan!r}: correct the payload, and restart this job from its step charge")
    connection.execute("insert into onboarding_charges (customer, cents) values (%s, %s)", [customer, CENTS[plan]])
    return CENTS[plan]


def provision(customer, plan, connection):
    opened = connection.execute(
        "insert into onboarding_accounts (customer, plan) values (%s, %s) on conflict do nothing", [customer, plan]
    )
    if not opened.rowcount:
        raise PermanentError(f"customer {customer} has an account already")


def refund(customer, cents, connection):
    connection.execute("insert into onboarding_charges (customer, cents) values (%s, %s)", [customer, -cents])


def mail(ctx, customer, email, subject, text):
    response = ctx.http.post(
        f"{ctx.settings['MAIL_API'].rstrip('/')}/messages",
        json={"to": email, "subject": subject, "text": text},
        # The same on every attempt: should this step die after the provider took the mail, it takes no second one.
        headers={"Authorization": f"Bearer {ctx.settings['MAIL_API_KEY']}", "Idempotency-Key": f"{customer}: {subject}"},
    )
    check(response, f"mail {subject!r} to customer {customer}")
