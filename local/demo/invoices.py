"""The story of the shipped automation `invoices`: each reaches its customer once, whatever is clicked and whatever dies."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from local.demo.telling import LEASE, Demo
from local.mail import LOST, MailProvider


def tell(demo: Demo) -> None:
    provider = demo.stack.mail
    assert provider is not None
    clicked(demo, provider)
    provider_down(demo, provider)
    killed(demo, provider)
    published = demo.rows("select payload->>'invoice' from outbox where topic = 'invoice.delivered' order by 1")
    demo.claim(published == [(f"INV-{number:04}",) for number in range(1, 5)], "each delivery stands in the outbox, once")


def clicked(demo: Demo, provider: MailProvider) -> None:
    demo.say('An invoice: "Send invoice" is clicked three times at once.')
    invoice(demo, "INV-0001")
    provider.seconds = 0.5
    with ThreadPoolExecutor(3) as clicks:
        answers = list(clicks.map(lambda _: click(demo, "INV-0001"), range(3)))
    demo.claim([status for status, _ in answers] == [202] * 3, "all three were answered 202")
    demo.claim(demo.until(lambda: done(demo, "INV-0001")), "its one job is done")
    provider.seconds = 0
    subjects = [mail.subject for mail in provider.mails]
    demo.claim(subjects == ["Invoice INV-0001"], f"the customer got one mail: {', '.join(subjects)}")
    ((story,),) = demo.rows("select correlation_id from jobs where key = 'INV-0001'")

    def found() -> set[str]:
        return {line.name for line in demo.stack.lines if story in line.text}

    everywhere = demo.until(lambda: found() >= {"intake", "drain"}) and provider.mails[0].correlation_id == story
    names = ", ".join(sorted(found()))
    demo.claim(everywhere, f"a search for its correlation id finds lines of {names}; the mail had it too")


def provider_down(demo: Demo, provider: MailProvider) -> None:
    demo.say("The mail provider answers 503 to everything, and then recovers.")
    numbers = ["INV-0002", "INV-0003"]
    provider.fail(1000)
    before = len(provider.statuses)
    for number in numbers:
        invoice(demo, number)
        click(demo, number)
    refused = demo.until(lambda: provider.statuses[before:] == [503, 503])
    demo.claim(refused, "two invoices were clicked, and refused by it")
    provider.recover()
    demo.claim(demo.until(lambda: all(done(demo, number) for number in numbers)), "both were sent when it was back")
    demo.claim(provider.statuses[before:] == [503, 503, 202, 202], "it was asked once more for each, and no oftener")


def killed(demo: Demo, provider: MailProvider) -> None:
    demo.say("A worker is killed after the provider took the mail, and before it could take a note of that.")
    victims: list[int] = []
    invoice(demo, "INV-0004")
    before = len(provider.statuses)
    provider.lose(1, meanwhile=lambda: victims.extend(demo.kill_drains()))
    click(demo, "INV-0004")
    lost = demo.until(lambda: LOST in provider.statuses)
    demo.claim(lost, f"killed {victims}; the mail is out, and its job still leased to the dead")
    time.sleep(LEASE + 0.5)
    demo.stack.invoke("schedule", {})
    demo.stack.invoke("drain", {})
    demo.claim(demo.until(lambda: done(demo, "INV-0004")), "another worker has done it, with the second attempt")
    mails = [mail for mail in provider.mails if "INV-0004" in mail.subject]
    asked = len(provider.statuses) - before
    demo.claim((len(mails), asked) == (1, 2), "it asked again under the same key, and the customer still has one mail")


def invoice(demo: Demo, number: str) -> None:
    demo.rows(
        "insert into invoices (number, customer, email, amount, due_on)"
        " values (%s, 'Ada', 'ada@example.com', 120, current_date + 14) returning number",
        number,
    )


def click(demo: Demo, number: str) -> tuple[int, object]:
    return demo.post({"type": "invoice.send", "invoice": number}, source="site")


def done(demo: Demo, number: str) -> bool:
    state = "select status from jobs where kind = 'invoice.send' and key = %s"
    delivered = demo.rows("select status from invoices where number = %s", number) == [("delivered",)]
    return delivered and demo.rows(state, number) == [("done",)]
