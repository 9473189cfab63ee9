"""Which messages become jobs of invoices, and what they do with invoices that are not as they should be."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from automations import invoices
from automations.site import site
from tidemill.model import Event, NewJob
from tidemill.source import route

from tests.automations.invoicing import Shop

STATES = "select status, error_class, last_error from jobs where kind = 'invoice.send'"


def routed(message: Any) -> tuple[list[Any], str | None]:
    return route(site, Event(1, "site", {}, json.dumps(message).encode(), datetime.now(UTC)), {})


def test_a_click_makes_the_one_job_of_its_invoice_and_no_form() -> None:
    click = {"type": "invoice.send", "invoice": "INV-0001"}
    assert routed(click) == ([NewJob("invoice.send", {"invoice": "INV-0001"}, key="INV-0001")], None)


@pytest.mark.parametrize("message", [{"type": "form"}, {"type": ["invoice.send"]}, {"invoice": "INV-0001"}])
def test_every_other_message_is_a_form(message: dict[str, Any]) -> None:
    assert routed(message) == ([NewJob("site.form", message)], None)


@pytest.mark.parametrize("invoice", ["", None, 17, ["INV-0001"], {}])
def test_a_click_that_names_no_invoice_makes_no_job_and_says_why(invoice: Any) -> None:
    error = "ValueError: invoice must be the number of an invoice, as a text"
    assert routed({"type": "invoice.send", "invoice": invoice}) == ([], error)
    assert routed({"type": "invoice.send"}) == ([], error)


def test_the_mail_says_what_is_to_be_paid_and_when(shop: Shop) -> None:
    shop.invoice("INV-0001", customer="Ada Lovelace", email="ada@example.com", amount="1120.50", due=0)
    shop.click("INV-0001")
    shop.drain()
    (mail,) = shop.provider.mails
    ((today,),) = shop.rows("select (now() at time zone 'UTC')::date")
    assert mail.to == "ada@example.com"
    assert mail.text == f"Dear Ada Lovelace,\n\ninvoice INV-0001 over 1120.50 is due on {today}.\n"


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"amount": None}, "invoice INV-0001 has no amount: enter it, and retry this job"),
        ({"email": None}, "invoice INV-0001 has no email: enter it, and retry this job"),
        ({"email": ""}, "invoice INV-0001 has no email: enter it, and retry this job"),
    ],
)
def test_what_an_invoice_lacks_is_named(shop: Shop, columns: dict[str, Any], words: str) -> None:
    shop.invoice("INV-0001", **columns)
    shop.click("INV-0001")
    shop.drain()
    assert shop.rows(STATES) == [("failed", "PermanentError", words)]
    assert shop.provider.statuses == []


def test_an_invoice_that_is_not_there_is_named(shop: Shop) -> None:
    shop.click("INV-0009")
    shop.drain()
    assert shop.rows(STATES) == [("failed", "PermanentError", "there is no invoice INV-0009")]


@pytest.mark.parametrize("payload", ["{}", "[]", "7", '{"invoice": 7}'])
def test_a_job_of_another_hand_that_names_no_invoice_is_dead_at_once(shop: Shop, payload: str) -> None:
    shop.connection.execute("insert into jobs (kind, payload) values ('invoice.send', %s)", [payload])
    shop.drain()
    assert shop.rows(STATES) == [("failed", "PermanentError", 'the payload must be {"invoice": its number}')]


@pytest.mark.parametrize("status", ["paid", "cancelled"])
def test_an_invoice_that_is_over_is_not_sent(shop: Shop, status: str) -> None:
    shop.invoice("INV-0001", status=status)
    shop.click("INV-0001")
    shop.drain()
    assert shop.rows(STATES) == [("discarded", "Discarded", f"invoice INV-0001 is {status}")]
    assert shop.rows("select status from invoices") == [(status,)]
    assert shop.provider.statuses == []


def test_an_invoice_delivered_long_ago_is_not_sent_again(shop: Shop) -> None:
    """Its job and its entry in the once ledger may be pruned by now."""
    shop.invoice("INV-0001", status="delivered")
    shop.click("INV-0001")
    shop.drain()
    assert shop.rows(STATES) == [("done", None, None)]
    assert (shop.provider.statuses, shop.rows("select count(*) from outbox")) == ([], [(0,)])


def test_an_invoice_paid_while_its_mail_was_on_its_way_stays_paid_and_is_published(shop: Shop) -> None:
    shop.invoice("INV-0001")

    def pay(told: str) -> None:
        shop.connection.execute("update invoices set status = 'paid'")

    shop.provider.say = pay
    shop.click("INV-0001")
    shop.drain()
    assert shop.rows("select status from invoices") == [("paid",)]
    assert shop.rows("select topic, payload from outbox") == [("invoice.delivered", {"invoice": "INV-0001"})]


def test_a_full_provider_is_waited_for_without_using_an_attempt(shop: Shop) -> None:
    shop.invoice("INV-0001")
    shop.provider.fail(1, 429)
    shop.click("INV-0001")
    shop.drain()
    assert shop.rows("select status, attempts, error_class from jobs where key = 'INV-0001'") == [
        ("pending", 0, "RateLimited")
    ]
    assert shop.rows("select paused_until > now() from limits where name = 'mail'") == [(True,)]


def test_a_mail_provider_that_does_not_know_us_is_told_without_the_key(shop: Shop) -> None:
    shop.invoice("INV-0001")
    shop.provider.fail(1, 401)
    shop.click("INV-0001")
    shop.drain()
    assert shop.rows(STATES) == [
        ("failed", "PermanentError", 'mail of invoice INV-0001: status 401: {"error": "told to fail"}')
    ]


@pytest.mark.parametrize("day", ["2027-04-30", "2027-05-03"])
def test_the_key_of_a_reminder_is_the_day_it_was_due_to_run(shop: Shop, day: str) -> None:
    """A slot that is run late, or again, makes no second reminder for its day."""
    shop.invoice("INV-0001", due=-1)
    for _ in range(2):
        shop.connection.execute("insert into jobs (kind, slot) values ('invoice.overdue', %s)", [f"{day}T08:00:00+00:00"])
    shop.drain()
    assert shop.rows("select key from jobs where kind = 'invoice.remind'") == [(f"INV-0001:{day}",)]
    assert shop.sent() == ["Reminder: invoice INV-0001"]


def test_reminders_that_somebody_asks_for_by_hand_are_of_today(shop: Shop) -> None:
    shop.invoice("INV-0001", due=-1)
    shop.connection.execute("insert into jobs (kind) values ('invoice.overdue')")
    shop.drain()
    ((key, today),) = shop.rows("select key, (now() at time zone 'UTC')::date from jobs where kind = 'invoice.remind'")
    assert key == f"INV-0001:{today}"


def test_an_invoice_paid_before_its_reminder_went_out_is_not_reminded_of(shop: Shop) -> None:
    shop.invoice("INV-0001", due=-1, status="paid")
    shop.connection.execute(
        'insert into jobs (kind, payload) values (\'invoice.remind\', \'{"invoice": "INV-0001", "day": "2027-04-30"}\')'
    )
    shop.drain()
    assert shop.rows("select status, last_error from jobs") == [("discarded", "invoice INV-0001 is paid")]
    assert shop.provider.statuses == []


def test_reminders_are_due_on_weekdays_at_eight_in_utc(shop: Shop) -> None:
    (schedule,) = [one for one in shop.machine.schedules if one.kind == "invoice.overdue"]
    friday = datetime(2027, 4, 30, 8, tzinfo=UTC)
    assert schedule.last_slot(friday) == friday
    assert schedule.next_slot(friday) == datetime(2027, 5, 3, 8, tzinfo=UTC)


def test_mails_of_both_kinds_share_the_providers_five_places(shop: Shop) -> None:
    assert shop.machine.limits["invoice.send"] == shop.machine.limits["invoice.remind"] == invoices.MAIL[0]
    assert invoices.MAIL[1] == 5
