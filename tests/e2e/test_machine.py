"""From a signed webhook to a finished job, through real processes."""

from __future__ import annotations

import hashlib
import hmac
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import requests

from tests.e2e.conftest import Shop


def wait_for_status(shop: Shop, job: int, status: str) -> None:
    until = time.monotonic() + 30
    while (found := shop.rows("select status from jobs where id = %s", job)) != [(status,)]:
        assert time.monotonic() < until, found
        time.sleep(0.02)


def test_a_signed_delivery_is_stored_answered_and_worked_off(shop: Shop) -> None:
    answer = shop.post("order.announce", {"number": 7})
    assert answer.status_code == 202
    assert answer.json()["jobs"] == 1
    job = shop.job(answer.json()["id"])
    wait_for_status(shop, job, "done")
    assert shop.stack.telegram is not None
    assert "Order 7 is paid" in [sent.text for sent in shop.stack.telegram.sent]
    status = requests.get(f"{shop.stack.url}{answer.headers['Location']}", timeout=10).json()
    assert status["jobs"] == [{"id": job, "kind": "order.announce", "status": "done"}]


def test_a_forged_delivery_is_refused_and_not_stored(shop: Shop) -> None:
    before = shop.rows("select count(*) from events")
    assert shop.post("order.announce", {"number": 8}, secret="another").status_code == 401
    assert shop.rows("select count(*) from events") == before


def test_other_methods_sources_and_paths_are_answered(shop: Shop) -> None:
    url = shop.stack.url
    assert requests.put(f"{url}/hooks/shop", timeout=10).status_code == 405
    assert requests.post(f"{url}/hooks/nobody", timeout=10).status_code == 404
    assert requests.get(f"{url}/elsewhere", timeout=10).status_code == 404
    assert requests.get(f"{url}/health", timeout=10).status_code == 200


def test_a_delivery_posted_by_twenty_clients_at_once_is_one_event(shop: Shop) -> None:
    with ThreadPoolExecutor(20) as clients:
        answers = list(clients.map(lambda _: shop.post("order.announce", {"number": 9}, delivery="d-9"), range(20)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum("duplicate" in answer.json() for answer in answers) == 19
    assert shop.rows("select count(*) from jobs where event_id = %s", answers[0].json()["id"]) == [(1,)]


def test_a_job_that_fails_for_good_reaches_a_person_and_the_operator(shop: Shop) -> None:
    job = shop.job(shop.post("order.announce", {}).json()["id"])
    wait_for_status(shop, job, "failed")
    alert = shop.stack.wait_for("an order without a number", "telegram")
    assert str(job) in alert.text
    assert "order.announce" in alert.text
    failed = shop.stack.invoke("replay", {"command": "failed", "kind": "order.announce"})
    assert [(one["id"], one["error_class"]) for one in failed["jobs"]] == [(job, "PermanentError")]


def test_an_invoice_that_is_clicked_is_mailed_and_shown(shop: Shop) -> None:
    shop.rows(
        "insert into invoices (number, customer, email, amount, due_on)"
        " values ('INV-1', 'Ada', 'ada@example.com', 120, current_date)"
    )
    body = b'{"type": "invoice.send", "invoice": "INV-1"}'
    signature = hmac.new(shop.stack.settings["SITE_WEBHOOK_SECRET"].encode(), body, hashlib.sha256).hexdigest()
    answer = requests.post(f"{shop.stack.url}/hooks/site", data=body, headers={"X-Signature": signature}, timeout=30)
    assert (answer.status_code, answer.json()["jobs"]) == (202, 1)
    wait_for_status(shop, shop.job(answer.json()["id"]), "done")
    assert shop.stack.mail is not None
    assert [mail.subject for mail in shop.stack.mail.mails] == ["Invoice INV-1"]
    assert shop.stack.wait_for("Invoice INV-1", "mail").text == "to ada@example.com: Invoice INV-1"


def test_a_worker_killed_in_the_middle_of_a_job_is_replaced_and_the_job_comes_back(shop: Shop) -> None:
    job = shop.job(shop.post("order.pack", {"number": 10}).json()["id"])
    shop.stack.wait_for("packing", "drain")
    for pid in shop.stack.processes("drain"):
        os.kill(pid, signal.SIGKILL)
    shop.rows("select pg_sleep_until(locked_until + interval '10 ms') from jobs where id = %s", job)
    shop.stack.invoke("schedule", {})
    wait_for_status(shop, job, "pending")
    shop.rows("update jobs set run_at = now() where id = %s", job)  # the backoff is another test's
    shop.stack.invoke("drain", {})
    wait_for_status(shop, job, "done")
    assert '"attempt": 2' in shop.stack.wait_for("packed", "drain").text
    assert shop.rows("select attempts, error_class from jobs where id = %s", job)[0][0] == 2


def test_an_intake_killed_while_idle_costs_no_delivery(shop: Shop) -> None:
    shop.post("order.announce", {"number": 11})
    for pid in shop.stack.processes("intake"):
        os.kill(pid, signal.SIGKILL)
    while shop.stack.processes("intake"):
        time.sleep(0.01)
    assert shop.post("order.announce", {"number": 12}).status_code == 202


def test_the_schedules_of_the_template_tick_at_once(shop: Shop) -> None:
    shop.stack.wait_for("OldestReadyAge", "schedule")
    assert shop.stack.processes("drain")


def test_nothing_here_can_reach_a_real_account(shop: Shop) -> None:
    settings = shop.stack.settings
    assert "AWS_PROFILE" not in settings
    assert (settings["AWS_ACCESS_KEY_ID"], settings["AWS_SECRET_ACCESS_KEY"]) == ("local", "local")
    assert settings["AWS_ENDPOINT_URL_LAMBDA"] == shop.stack.lambda_url


def test_no_line_shows_a_secret(shop: Shop) -> None:
    assert shop.post("order.announce", {"number": 13}).status_code == 202
    settings = shop.stack.settings
    hidden = [settings[name] for name in ("SHOP_WEBHOOK_SECRET", "SITE_WEBHOOK_SECRET", "TELEGRAM_BOT_TOKEN")]
    lines = [line.text for line in shop.stack.lines]
    assert lines
    assert not [line for line in lines if any(secret in line for secret in hidden)]
