"""The stand-in for a mail provider: a key is one mail, and it fails as it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from local.mail import LOST, PLACES, MailProvider

ADA = {"to": "ada@example.com", "subject": "Hello", "text": "Is the mill open?"}


@pytest.fixture
def provider() -> Iterator[MailProvider]:
    stand_in = MailProvider()
    yield stand_in
    stand_in.close()


def post(provider: MailProvider, key: str | None = "k-1", mail: Any = ADA, **headers: str) -> requests.Response:
    keyed = {} if key is None else {"Idempotency-Key": key}
    given = {"Authorization": "Bearer test", "X-Correlation-Id": "c-1", **keyed, **headers}
    return requests.post(f"{provider.url}/messages", json=mail, headers=given, timeout=10)


def test_a_mail_is_delivered_told_and_listed() -> None:
    told: list[str] = []
    provider = MailProvider(told.append)
    answer = post(provider)
    assert (answer.status_code, answer.json()) == (202, {"id": 1})
    assert told == ["to ada@example.com: Hello"]
    listed = requests.get(f"{provider.url}/messages", timeout=10).json()
    assert [{**one, "at": 0} for one in listed] == [{**ADA, "key": "k-1", "correlation_id": "c-1", "at": 0}]
    provider.close()


def test_without_a_key_it_takes_nothing(provider: MailProvider) -> None:
    assert post(provider, None).status_code == 400
    assert provider.mails == []


def test_without_authorization_it_takes_nothing(provider: MailProvider) -> None:
    assert post(provider, Authorization="").status_code == 401
    assert provider.mails == []


def test_the_same_key_gets_the_same_answer_and_another_key_another_mail(provider: MailProvider) -> None:
    answers = [post(provider, key).json() for key in ("k-1", "k-1", "k-2")]
    assert answers == [{"id": 1}, {"id": 1}, {"id": 2}]
    assert len(provider.mails) == 2


@pytest.mark.parametrize("mail", [{**ADA, "to": to} for to in ("ada", "ada@mill", "", None)] + [{}, []])
def test_a_bad_address_is_refused_and_its_key_can_be_used_again(provider: MailProvider, mail: Any) -> None:
    assert post(provider, mail=mail).status_code == 422
    assert post(provider).status_code == 202


def test_a_body_that_is_no_json_is_refused(provider: MailProvider) -> None:
    headers = {"Authorization": "Bearer test", "Idempotency-Key": "k-1"}
    assert requests.post(f"{provider.url}/messages", data=b"{", headers=headers, timeout=10).status_code == 400


@pytest.mark.parametrize(("method", "path"), [("PUT", "/messages"), ("POST", "/message"), ("GET", "/")])
def test_there_is_nothing_else(provider: MailProvider, method: str, path: str) -> None:
    assert requests.request(method, provider.url + path, timeout=10).status_code == 404


def test_it_fails_so_many_times_and_recovers(provider: MailProvider) -> None:
    provider.fail(2)
    assert [post(provider).status_code for _ in range(3)] == [503, 503, 202]
    assert provider.statuses == [503, 503, 202]
    provider.fail(1000, 500)
    provider.recover()
    assert post(provider, "k-2").status_code == 202


def test_a_fault_may_be_for_one_address(provider: MailProvider) -> None:
    provider.fail(1, to="eve@example.com")
    assert post(provider).status_code == 202
    assert post(provider, "k-2", {**ADA, "to": "eve@example.com"}).status_code == 503


def test_a_lost_answer_is_a_mail_that_was_delivered(provider: MailProvider) -> None:
    seen: list[int] = []
    provider.lose(1, meanwhile=lambda: seen.append(len(provider.mails)))
    with pytest.raises(requests.ConnectionError):
        post(provider)
    assert seen == [1]
    assert post(provider).json() == {"id": 1}
    assert (provider.statuses, len(provider.mails)) == ([LOST, 202], 1)


def test_what_is_over_its_places_is_refused_and_counted(provider: MailProvider) -> None:
    full = threading.Barrier(PLACES + 1)
    leave = threading.Event()

    def stay() -> None:
        full.wait(10)
        leave.wait(10)

    provider.fail(PLACES, meanwhile=stay)
    with ThreadPoolExecutor(PLACES) as senders:
        inside = [senders.submit(post, provider, f"k-{number}") for number in range(PLACES)]
        full.wait(10)
        refused = post(provider)
        leave.set()
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    assert [one.result().status_code for one in inside] == [503] * PLACES
    assert provider.most_at_once == PLACES + 1
    assert post(provider).status_code == 202
