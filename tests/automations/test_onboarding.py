"""Onboarding, week by week: the clock is moved by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from automations.site import site
from tidemill.model import Event, NewJob, Signal
from tidemill.source import route
from tidemill.wire import Connection

from local.mail import MailProvider
from tests.automations.invoicing import Shop
from tests.queue.workflows import history, pass_time

SIGN_UP = {"type": "customer.signed_up", "customer": "C-17", "email": "ada@example.com", "plan": "small"}
SET_UP = {"type": "customer.set_up", "customer": "C-17"}
OPENED = ["charge", "provision", "welcome", "set-up:C-17"]


@pytest.fixture
def mill(database_url: str, connection: Connection) -> Iterator[Shop]:
    provider = MailProvider()
    mill = Shop(database_url, connection, provider)
    yield mill
    mill.machine.database.close()
    provider.close()


def steps(mill: Shop) -> list[str]:
    return [name for _, _, name, _ in history(mill.connection, 1)]


def job(mill: Shop) -> tuple[Any, ...]:
    (found,) = mill.rows("select status, attempts, last_error from jobs")
    return found


def charged(mill: Shop) -> list[tuple[Any, ...]]:
    return mill.rows("select customer, cents from onboarding_charges order by id")


def test_who_is_not_set_up_in_a_week_is_charged_welcomed_and_nudged(mill: Shop) -> None:
    mill.post(SIGN_UP)
    mill.drain()
    assert (steps(mill), mill.sent(), charged(mill)) == (OPENED, ["Welcome"], [("C-17", 900)])
    assert mill.rows("select customer, plan from onboarding_accounts") == [("C-17", "small")]
    in_a_week = "run_at between now() + interval '6 days 23 hours' and now() + interval '7 days'"
    assert mill.rows(f"select status, attempts, {in_a_week} from jobs") == [("pending", 0, True)]
    pass_time(mill.connection)
    mill.drain()
    assert (job(mill), steps(mill)) == (("done", 1, None), [*OPENED, "nudge"])
    assert mill.sent() == ["Welcome", "Your account is waiting"]


def test_who_is_set_up_in_time_is_left_alone(mill: Shop) -> None:
    mill.post(SIGN_UP)
    mill.drain()
    mill.post(SET_UP)
    mill.drain()
    assert (job(mill), steps(mill), mill.sent()) == (("done", 1, None), OPENED, ["Welcome"])


def test_who_was_set_up_before_the_welcome_is_too(mill: Shop) -> None:
    mill.post(SET_UP)
    mill.post(SIGN_UP)
    mill.drain()
    assert (job(mill), mill.sent()) == (("done", 1, None), ["Welcome"])


def test_signing_up_twice_is_one_onboarding(mill: Shop) -> None:
    for _ in range(3):
        mill.post(SIGN_UP)
    mill.drain()
    assert (len(mill.rows("select from jobs")), charged(mill)) == (1, [("C-17", 900)])


def test_who_has_an_account_gets_the_money_back(mill: Shop) -> None:
    mill.connection.execute("insert into onboarding_accounts (customer, plan) values ('C-17', 'large')")
    mill.post(SIGN_UP)
    mill.drain()
    assert job(mill) == ("failed", 1, "customer C-17 has an account already")
    assert (charged(mill), mill.sent()) == ([("C-17", 900), ("C-17", -900)], [])


def test_a_mail_provider_that_is_away_holds_up_the_welcome_and_charges_nobody_twice(mill: Shop) -> None:
    mill.provider.fail(2)
    mill.post(SIGN_UP)
    for _ in range(3):
        mill.drain()
        mill.let_time_pass()
    assert (charged(mill), mill.sent(), steps(mill)) == ([("C-17", 900)], ["Welcome"], OPENED)


def test_a_mail_whose_answer_was_lost_is_not_sent_twice(mill: Shop) -> None:
    mill.provider.lose(1)
    mill.post(SIGN_UP)
    mill.drain(), mill.let_time_pass(), mill.drain()
    assert (mill.sent(), steps(mill)) == (["Welcome"], OPENED)


def test_a_plan_that_does_not_exist_is_charged_to_nobody(mill: Shop) -> None:
    mill.post({**SIGN_UP, "plan": "huge"})
    mill.drain()
    text = "there is no plan 'huge': correct the payload, and restart this job from its step charge"
    assert (job(mill), charged(mill)) == (("failed", 1, text), [])
    mill.connection.execute("update jobs set payload = jsonb_set(payload, '{plan}', '\"large\"')")
    assert mill.machine.operator.run({"command": "restart", "job": 1, "step": "charge"})["ok"]
    mill.drain()
    assert (steps(mill), charged(mill)) == (OPENED, [("C-17", 4900)])


@pytest.mark.parametrize(
    ("message", "yielded"),
    [
        (SIGN_UP, [NewJob("onboarding", {"customer": "C-17", "email": "ada@example.com", "plan": "small"}, key="C-17")]),
        (SET_UP, [Signal("set-up:C-17", {"at": "2027-04-30T00:00:00+00:00"})]),
    ],
)
def test_the_sites_messages_are_no_forms(message: dict[str, Any], yielded: list[Any]) -> None:
    event = Event(1, "site", {}, json.dumps(message).encode(), datetime(2027, 4, 30, tzinfo=UTC))
    assert route(site, event, {}) == (yielded, None)


@pytest.mark.parametrize("message", [{**SIGN_UP, "customer": 17}, {**SET_UP, "customer": None}, {"type": "customer.set_up"}])
def test_a_message_without_its_texts_is_a_route_error(message: dict[str, Any]) -> None:
    event = Event(1, "site", {}, json.dumps(message).encode(), datetime(2027, 4, 30, tzinfo=UTC))
    text = "ValueError: customer, and of one who signs up email and plan, must be texts"
    assert route(site, event, {}) == ([], text)
