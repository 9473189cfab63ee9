"""The story of the shipped automation `onboarding`: a workflow of a week, which lives through whatever dies meanwhile."""

from __future__ import annotations

import time

from local.demo.telling import LEASE, Demo
from local.mail import LOST, MailProvider


def tell(demo: Demo) -> None:
    provider = demo.stack.mail
    assert provider is not None
    killed(demo, provider)
    nudged(demo, provider)
    set_up(demo, provider)
    refunded(demo, provider)


def killed(demo: Demo, provider: MailProvider) -> None:
    demo.say("A customer signs up. The worker is killed after the provider took the welcome, before the step was recorded.")
    victims: list[int] = []
    before = len(provider.statuses)
    provider.lose(1, to="C-1@example.com", meanwhile=lambda: victims.extend(demo.kill_drains()))
    sign_up(demo, "C-1", "small")
    lost = demo.until(lambda: LOST in provider.statuses[before:])
    demo.claim(lost and steps(demo, "C-1") == ["charge", "provision"], f"killed {victims}; charged, provisioned, and mailed")
    time.sleep(LEASE + 0.5)
    demo.stack.invoke("schedule", {})
    demo.stack.invoke("drain", {})
    demo.claim(demo.until(lambda: waits(demo, "C-1")), "another worker went on from there")
    asked = provider.statuses[before:]
    demo.claim((mails(provider, "C-1"), len(asked)) == (["Welcome"], 2), "it asked again, and the customer has one welcome")
    demo.claim(charged(demo, "C-1") == [900], "and was charged once")
    [(status, days)] = demo.rows("select status, extract(epoch from run_at - now()) / 86400 from jobs where key = 'C-1'")
    demo.claim(status == "pending" and 6.9 < days <= 7, f"the worker is free; the job goes on in {days:.1f} days")


def nudged(demo: Demo, provider: MailProvider) -> None:
    demo.say("A week passes: its clock is moved in the database. The customer has set up nothing.")
    pass_week(demo, "C-1")
    demo.claim(demo.until(lambda: done(demo, "C-1")), "the job went on, and is done")
    demo.claim(mails(provider, "C-1") == ["Welcome", "Your account is waiting"], "the nudge was sent, and no second welcome")


def set_up(demo: Demo, provider: MailProvider) -> None:
    demo.say("Another customer signs up, and sets the account up within the week.")
    sign_up(demo, "C-2", "large")
    demo.claim(demo.until(lambda: waits(demo, "C-2")), "charged, provisioned, welcomed")
    demo.post({"type": "customer.set_up", "customer": "C-2"}, source="site")
    demo.claim(demo.until(lambda: done(demo, "C-2")), "the signal came, and the job is done at once")
    demo.claim(mails(provider, "C-2") == ["Welcome"], "the customer is not nudged")


def refunded(demo: Demo, provider: MailProvider) -> None:
    demo.say("A third one signs up who was given an account by hand: no other can be opened.")
    telegram = demo.stack.telegram
    assert telegram is not None
    demo.rows("insert into onboarding_accounts (customer, plan) values ('C-3', 'large') returning customer")
    job = sign_up(demo, "C-3", "small")
    demo.claim(demo.until(lambda: demo.status(job) == ("failed", 1)), "the job failed for good after one attempt")
    demo.claim(charged(demo, "C-3") == [900, -900], "what it had charged was given back")
    told = demo.until(lambda: any(f"Job {job} (onboarding)" in one.text for one in telegram.sent))
    demo.claim(told and mails(provider, "C-3") == [], "the team was told, and the customer got no welcome")


def sign_up(demo: Demo, customer: str, plan: str) -> int:
    """Returns the job."""
    email = f"{customer}@example.com"
    body = {"type": "customer.signed_up", "customer": customer, "email": email, "plan": plan}
    return demo.job_of(demo.post(body, source="site")[1]["id"])


def pass_week(demo: Demo, customer: str) -> None:
    its = "(select id from jobs where key = %s)"
    demo.rows(f"update job_steps set wake_at = now() where wake_at > now() and job_id in {its} returning name", customer)
    demo.rows("update jobs set run_at = now() where key = %s and finished_at is null returning id", customer)
    demo.stack.invoke("drain", {})


def waits(demo: Demo, customer: str) -> bool:
    """Whether it has come to where it waits for the set-up."""
    return steps(demo, customer) == ["charge", "provision", "welcome", f"set-up:{customer}"]


def done(demo: Demo, customer: str) -> bool:
    return demo.rows("select status from jobs where key = %s", customer) == [("done",)]


def steps(demo: Demo, customer: str) -> list[str]:
    query = "select s.name from job_steps s join jobs j on j.id = s.job_id where j.key = %s order by j.id, s.position"
    return [name for (name,) in demo.rows(query, customer)]


def charged(demo: Demo, customer: str) -> list[int]:
    query = "select cents from onboarding_charges where customer = %s order by id"
    return [cents for (cents,) in demo.rows(query, customer)]


def mails(provider: MailProvider, customer: str) -> list[str]:
    return [mail.subject for mail in provider.mails if mail.to == f"{customer}@example.com"]
