"""The stand-in for a provider: an effect a key, and who is in the gate at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import requests

from tests.chaos.provider import Provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    provider = Provider(1)
    yield provider
    provider.close()


def test_a_key_is_charged_once(provider: Provider) -> None:
    provider.calm()
    for key in ("a", "a", "b"):
        headers = {"Idempotency-Key": key, "X-Correlation-Id": "story"}
        requests.post(f"{provider.url}/charges", json={"purpose": "p"}, headers=headers, timeout=10).raise_for_status()
    assert [tuple(one) for one in provider.charges.values()] == [("a", "p", "story"), ("b", "p", "story")]
    assert provider.replays == 1


def test_those_in_the_gate_at_once_are_counted(provider: Provider) -> None:
    provider.calm()

    def call(number: int) -> None:
        requests.post(f"{provider.url}/gate", json={"job": number, "process": 1}, timeout=10).raise_for_status()

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    call(5)
    assert provider.most_inside == len(provider.crowds[-1]) > 1


def test_a_caller_that_hung_up_is_in_the_gate_no_longer(provider: Provider) -> None:
    provider.calm()
    for number in range(3):
        with pytest.raises(requests.Timeout):
            requests.post(f"{provider.url}/gate", json={"job": number, "process": 1}, timeout=0.03)
    assert provider.most_inside == 1


def test_a_seed_has_one_mood_for_each_call() -> None:
    weights = {"well": 1, "500": 1, "429": 1}
    one, other = Provider(5), Provider(5)
    assert [one.mood("k", weights) for _ in range(20)] == [other.mood("k", weights) for _ in range(20)]
    one.close()
    other.close()
