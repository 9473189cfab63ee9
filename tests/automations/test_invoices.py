"""What a customer is promised of invoices, held with real processes, some of which die."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from tidemill import app

from local.mail import LOST
from tests.automations.invoicing import Shop

DELIVERED = "select payload, attributes->>'correlation_id' from outbox where topic = 'invoice.delivered' order by id"
STATES = "select key, status, attempts from jobs where kind = 'invoice.send' order by key"


def test_a_click_is_answered_before_any_mail_and_three_at_once_are_one_mail(shop: Shop) -> None:
    shop.invoice("INV-0001")
    machines = [app.load(shop.environ) for _ in range(3)]
    with ThreadPoolExecutor(3) as clicks:
        answers = list(clicks.map(lambda machine: shop.click("INV-0001", machine=machine), machines))
    assert [answer["statusCode"] for answer in answers] == [202] * 3
    assert shop.provider.statuses == []
    shop.run("drain", at_once=2)
    assert shop.sent() == ["Invoice INV-0001"]
    assert shop.rows(STATES) == [("INV-0001", "done", 1)]
    for machine in machines:
        machine.database.close()


def test_the_caller_can_poll_until_it_is_done(shop: Shop) -> None:
    shop.invoice("INV-0001")
    answer = shop.click("INV-0001")
    assert [job["status"] for job in shop.poll(answer)["jobs"]] == ["pending"]
    shop.drain()
    assert [(job["kind"], job["status"]) for job in shop.poll(answer)["jobs"]] == [("invoice.send", "done")]


def test_three_503s_are_ridden_out_with_exactly_three_retries(shop: Shop) -> None:
    shop.invoice("INV-0001")
    shop.provider.fail(3)
    shop.click("INV-0001")
    for _ in range(5):
        shop.run("drain")
        shop.let_time_pass()
    assert shop.provider.statuses == [503, 503, 503, 202]
    assert shop.rows(STATES) == [("INV-0001", "done", 4)]
    assert shop.rows("select attempt, error from job_errors order by id") == [
        (attempt, 'mail of invoice INV-0001: status 503: {"error": "told to fail"}') for attempt in (1, 2, 3)
    ]
    assert shop.sent() == ["Invoice INV-0001"]


def test_an_answer_that_was_lost_is_asked_for_again_under_the_same_key(shop: Shop) -> None:
    shop.invoice("INV-0001")
    shop.provider.lose(1)
    shop.click("INV-0001")
    shop.drain()
    shop.let_time_pass()
    shop.drain()
    assert shop.provider.statuses == [LOST, 202]
    assert shop.sent() == ["Invoice INV-0001"]


def test_a_worker_killed_after_the_provider_accepted_makes_one_mail(shop: Shop) -> None:
    shop.invoice("INV-0001")
    workers: list[subprocess.Popen[str]] = []
    shop.provider.lose(1, meanwhile=lambda: workers[0].kill())
    shop.click("INV-0001")
    workers.append(shop.start("drain"))
    assert workers[0].wait(30) == -9
    assert shop.sent() == ["Invoice INV-0001"]
    assert shop.rows(STATES) == [("INV-0001", "running", 1)]
    shop.let_time_pass()
    shop.run("drain")
    assert shop.provider.statuses == [LOST, 202]
    assert shop.sent() == ["Invoice INV-0001"]
    assert shop.rows(STATES) == [("INV-0001", "done", 2)]
    assert [payload for payload, _ in shop.rows(DELIVERED)] == [{"invoice": "INV-0001"}]


# What it sends: find the invoice, begin the call, (the mail), record the call, mark the invoice, publish.
@pytest.mark.parametrize("step", [*(f"before:{number}" for number in range(1, 6)), "after:5"])
def test_killed_between_any_two_statements_it_is_one_mail_marked_and_published_once(shop: Shop, step: str) -> None:
    shop.invoice("INV-0001")
    shop.click("INV-0001")
    dying = shop.spawn([sys.executable, "-m", "tests.automations.dying", step])
    dying.communicate(timeout=60)
    assert dying.returncode == -9
    assert shop.rows(DELIVERED) == []
    shop.let_time_pass()
    shop.drain()
    assert shop.sent() == ["Invoice INV-0001"]
    assert shop.rows("select status from invoices") == [("delivered",)]
    assert [payload for payload, _ in shop.rows(DELIVERED)] == [{"invoice": "INV-0001"}]
    assert shop.rows(STATES) == [("INV-0001", "done", 2)]


def test_broken_invoices_first_in_line_hold_up_nobody_and_end_dead_with_words_to_act_on(shop: Shop) -> None:
    shop.invoice("INV-0001", email="ada-at-example.com")
    shop.invoice("INV-0002", amount=None)
    good = [f"INV-{number:04}" for number in range(3, 9)]
    for number in good:
        shop.invoice(number)
    for number in ["INV-0001", "INV-0002", *good]:
        shop.click(number)
    lines = shop.run("drain")
    assert shop.sent() == [f"Invoice {number}" for number in good]
    assert shop.rows("select idempotency_key, attempts, last_error from dead_letters order by id") == [
        ("INV-0001", 1, "invoice INV-0001: the mail provider refuses the address ada-at-example.com (422): correct it, and"
         " retry this job"),
        ("INV-0002", 1, "invoice INV-0002 has no amount: enter it, and retry this job"),
    ]  # fmt: skip
    assert any("enter it, and retry this job" in line for line in lines if '"ERROR"' in line)


def test_a_corrected_invoice_is_sent_by_the_operators_retry(shop: Shop) -> None:
    shop.invoice("INV-0001", email="ada-at-example.com")
    shop.click("INV-0001")
    shop.drain()
    shop.connection.execute("update invoices set email = 'ada@example.com'")
    ((job,),) = shop.rows("select id from jobs where kind = 'invoice.send'")
    assert shop.machine.operator.run({"command": "retry", "job": job})["ok"]
    shop.drain()
    assert shop.sent() == ["Invoice INV-0001"]


def test_a_job_that_kills_three_workers_is_dead_with_that_reason_and_the_others_are_sent(shop: Shop) -> None:
    """B36, B46"""
    shop.invoice("INV-0001", email="killer@example.com")
    good = [f"INV-{number:04}" for number in range(2, 6)]
    for number in good:
        shop.invoice(number)
    workers: list[subprocess.Popen[str]] = []
    shop.provider.fail(10, to="killer@example.com", meanwhile=lambda: workers[-1].kill())
    for number in ["INV-0001", *good]:
        shop.click(number)
    shop.connection.execute("update jobs set max_attempts = 3")
    ends: list[int] = []
    for _ in range(4):
        workers.append(shop.start("drain"))
        ends.append(workers[-1].wait(30))
        shop.let_time_pass()
    assert ends == [-9, -9, -9, 0]
    assert shop.rows("select idempotency_key, attempts, last_error from dead_letters") == [
        ("INV-0001", 3, "lease expired 3 times")
    ]
    assert shop.provider.statuses.count(503) == 3
    assert shop.sent() == [f"Invoice {number}" for number in good]


def test_two_schedulers_make_one_reminder_of_each_overdue_invoice(shop: Shop) -> None:
    shop.invoice("INV-0001", due=-1)
    shop.invoice("INV-0002", due=-30, status="delivered")
    shop.invoice("INV-0003", due=-1, status="paid")
    shop.invoice("INV-0004", due=0)
    shop.machine.tick.run({}, None)  # the first sight of the schedule: it starts with its next slot
    shop.connection.execute("update schedules set first_seen = now() - interval '4 days', last_slot = null")
    shop.run("schedule", at_once=2)
    shop.run("schedule")
    shop.run("drain", at_once=2)
    assert shop.sent() == ["Reminder: invoice INV-0001", "Reminder: invoice INV-0002"]
    ((day,),) = shop.rows("select left(slot, 10) from jobs where kind = 'invoice.overdue'")
    keys = shop.rows("select key from jobs where kind = 'invoice.remind' order by key")
    assert keys == [(f"INV-0001:{day}",), (f"INV-0002:{day}",)]


def test_one_search_by_correlation_id_finds_every_line(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.invoice("INV-0001")
    shop.invoice("INV-0002")
    shop.click("INV-0002", "another-story")
    capsys.readouterr()
    shop.click("INV-0001", "story-17")
    intake = capsys.readouterr().out.splitlines()
    drain = shop.run("drain")
    found = [json.loads(line) for line in intake + drain if "story-17" in line]
    assert [line["message"] for line in found] == ["delivery", "mail sent", "job done"]
    ((job,),) = shop.rows("select id from jobs where key = 'INV-0001'")
    assert [line.get("job") for line in found] == [None, job, job]
    unsaid = [line for line in intake + drain if "message" in line and '"correlation_id"' not in line]
    assert unsaid == []
    assert {mail.correlation_id: mail.subject for mail in shop.provider.mails}["story-17"] == "Invoice INV-0001"
    assert ({"invoice": "INV-0001"}, "story-17") in shop.rows(DELIVERED)


def test_no_more_than_five_mails_are_on_their_way_at_once(shop: Shop) -> None:
    for number in range(16):
        shop.invoice(f"INV-{number:04}")
        shop.click(f"INV-{number:04}")
    shop.provider.seconds = 0.2
    shop.run("drain", at_once=2)
    assert shop.provider.statuses == [202] * 16
    assert 1 < shop.provider.most_at_once <= 5
