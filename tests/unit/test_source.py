"""Source: what it answers to a request, and what its routes make of an event."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tidemill import registry
from tidemill import source as sources
from tidemill.errors import ConfigurationError
from tidemill.model import Accepted, Event, NewJob, Refused, Reply, Request
from tidemill.source import MOST_JOBS, Source, by_name, route
from tidemill.verify import header, json_path, secret_header

REQUEST = Request("POST", "https://example.test/hooks/shop", [("X-Id", "7")], b'{"id": 42}')


def accept(request: Request, settings: Mapping[str, str], now: float) -> Accepted:
    return Accepted()


def event(body: bytes = b'{"n": 1}') -> Event:
    return Event(1, "shop", {}, body, datetime.now(UTC))


def routed(function: Callable[[Event], Any], redact: Callable[[str], str] = str) -> tuple[list[NewJob], str | None]:
    source = Source("shop", accept)
    source.route(function)
    return route(source, event(), {}, redact)


def test_the_key_of_a_genuine_request_is_a_text() -> None:
    """B30: numbers and texts are one key space."""
    assert Source("shop", accept, header("X-Id")).check(REQUEST, {}, 0) == Accepted("7")
    assert Source("shop", accept, json_path("id")).check(REQUEST, {}, 0) == Accepted("42")


def test_no_dedup_key_means_no_key() -> None:
    assert Source("shop", accept).check(REQUEST, {}, 0) == Accepted(None)
    assert Source("shop", accept, header("X-None")).check(REQUEST, {}, 0) == Accepted(None)


@pytest.mark.parametrize(
    ("value", "key"), [(None, None), ("", None), (0, "0"), (42, "42"), ("42", "42"), (True, None), (b"x", None)]
)
def test_what_is_a_key(value: object, key: str | None) -> None:
    """B30."""
    assert Source("shop", accept, lambda request: value).check(REQUEST, {}, 0) == Accepted(key)


def test_a_long_key_is_its_sha256() -> None:
    """B32."""
    verdict = Source("shop", accept, lambda request: "é" * 251).check(REQUEST, {}, 0)
    assert isinstance(verdict, Accepted)
    assert verdict.dedup_key is not None
    assert len(verdict.dedup_key) == 64


def test_a_key_that_cannot_be_read_is_no_reason_to_lose_a_genuine_delivery() -> None:
    assert Source("shop", accept, lambda request: {}["id"]).check(REQUEST, {}, 0) == Accepted(None)  # type: ignore[typeddict-item]


def test_a_key_of_two_values_refuses() -> None:
    twice = Request("POST", "", [("X-Id", "7"), ("X-Id", "8")], b"")
    assert Source("shop", accept, header("X-Id")).check(twice, {}, 0) == Refused("the header X-Id has several values")


def test_the_key_that_a_verification_found_itself_is_taken() -> None:
    assert Source("shop", lambda *_: Accepted("signed")).check(REQUEST, {}, 0) == Accepted("signed")
    assert Source("shop", lambda *_: Accepted("x" * 501)).check(REQUEST, {}, 0) != Accepted("x" * 501)


@pytest.mark.parametrize("verdict", [Refused("no"), Reply(200, "text/plain", "challenge")])
def test_a_refusal_and_a_reply_are_handed_on(verdict: Refused | Reply) -> None:
    assert Source("shop", lambda *_: verdict, header("X-Id")).check(REQUEST, {}, 0) == verdict


@pytest.mark.parametrize("answered", [True, None, "yes", 1])
def test_a_verification_that_answers_anything_else_refuses(answered: Any) -> None:
    verdict = Source("shop", lambda *_: answered).check(REQUEST, {}, 0)
    assert verdict == Refused(f"the verification answered {type(answered).__name__}")


@pytest.mark.parametrize("error", [ValueError("secret"), RecursionError(), MemoryError()])
def test_a_verification_that_raises_refuses_and_tells_the_class_alone(error: Exception) -> None:
    def verify(*_: object) -> Accepted:
        raise error

    assert Source("shop", verify).check(REQUEST, {}, 0) == Refused(f"the verification raised {type(error).__name__}")


def test_a_verification_gets_request_settings_and_now() -> None:
    seen: list[object] = []

    def verify(*given: object) -> Accepted:
        seen.extend(given)
        return Accepted()

    Source("shop", verify).check(REQUEST, {"A": "1"}, 12.5)
    assert seen == [REQUEST, {"A": "1"}, 12.5]


@pytest.mark.parametrize(("value", "missing"), [(None, ["S"]), ("", ["S"]), (" , ", ["S"]), ("x", [])])
def test_a_missing_or_blank_secret_is_named(value: str | None, missing: list[str]) -> None:
    """B14."""
    source = Source("shop", secret_header("X-T", secret="S"))
    assert source.secrets == ("S",)
    assert source.missing({} if value is None else {"S": value}) == missing
    assert Source("shop", accept).missing({}) == []


@pytest.mark.parametrize("name", ["", "Shop", "a/b", "a b", "-a", "é", "a" * 101, None, 5])
def test_a_name_that_no_address_can_have_is_refused_at_load(name: Any) -> None:
    with pytest.raises(ConfigurationError, match="name must be"):
        Source(name, accept)


@pytest.mark.parametrize(("verify", "key", "said"), [(None, None, "verify must be"), (accept, "X-Id", "dedup_key must be")])
def test_what_is_no_verification_and_no_key_is_refused_at_load(verify: Any, key: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Source("shop", verify, key)


def test_a_source_is_declared_by_the_module_that_makes_it() -> None:
    made = Source("declared-here", accept)
    assert made.module == __name__
    assert made in sources.declared.of([__name__])


def test_two_sources_of_one_name_in_one_module_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "from tidemill import Source\nfrom tidemill.verify import secret_header\n"
    (tmp_path / "twin_module.py").write_text(text + "Source('twin', secret_header('X', secret='S'))\n" * 2)
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.load_modules(["twin_module"])
    with pytest.raises(ConfigurationError, match="'twin' is declared twice: in twin_module and in twin_module"):
        by_name(sources.declared.of(["twin_module"]))


def test_a_source_made_by_a_preset_is_declared_by_the_module_that_calls_it(monkeypatch: pytest.MonkeyPatch) -> None:
    preset: dict[str, Any] = {"__name__": "tidemill.senders", "Source": Source, "accept": accept}
    exec("def github(): return Source('by-preset', accept)", preset)
    assert preset["github"]().module == __name__


def test_one_name_in_two_modules_is_refused_and_both_are_named(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first_module", "second_module"):
        text = "from tidemill.source import Source\nfrom tidemill.verify import secret_header\n"
        (tmp_path / f"{name}.py").write_text(text + "Source('twice', secret_header('X', secret='S'))\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.load_modules(["first_module", "second_module"])
    with pytest.raises(ConfigurationError, match="'twice' is declared twice: in first_module and in second_module"):
        by_name(sources.declared.of(["first_module", "second_module"]))


def test_a_module_that_is_loaded_again_declares_its_source_once(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "from tidemill.source import Source\nfrom tidemill.verify import secret_header\n"
    (tmp_path / "reloaded.py").write_text(text + "shop = Source('again', secret_header('X', secret='S'))\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.load_modules(["reloaded"])
    del sys.modules["reloaded"]
    registry.load_modules(["reloaded"])
    assert by_name(sources.declared.of(["reloaded"])) == {"again": sys.modules["reloaded"].shop}


def test_the_decorated_function_stays_itself() -> None:
    def orders(event: Event) -> None: ...

    assert Source("shop", accept).route(orders) is orders


def test_each_route_gets_the_event_and_its_jobs_are_in_order() -> None:
    source = Source("shop", accept)
    source.route(lambda event: [NewJob("a", event.json), NewJob("b")])
    source.route(lambda event: None)
    source.route(lambda event: iter([NewJob("c", key=event.id)]))
    assert route(source, event(), {}) == ([NewJob("a", {"n": 1}), NewJob("b"), NewJob("c", key=1)], None)


def test_a_source_without_routes_makes_no_jobs() -> None:
    assert route(Source("shop", accept), event(), {}) == ([], None)


def recurse(event: Event) -> Iterator[NewJob]:
    yield from recurse(event)


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError


def raising(error: BaseException) -> Callable[[Event], Iterator[NewJob]]:
    def function(event: Event) -> Iterator[NewJob]:
        yield NewJob("first")
        raise error

    return function


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (raising(KeyError("order")), "KeyError: 'order'"),
        (raising(KeyError()), "KeyError: "),
        (raising(SystemExit(3)), "SystemExit: 3"),
        (raising(Mute()), "Mute: <its text raises ValueError>"),
        (raising(ValueError("a\x00b\ud800")), "ValueError: a\ufffdb\ufffd"),
        (recurse, "RecursionError: "),
        (lambda event: ["job"], "TypeError: a route yields NewJob and Signal, not str"),
        (lambda event: 5, "TypeError: 'int' object is not iterable"),
        (lambda event: [NewJob("", {})], "ValueError: kind must be"),
        (lambda event: [NewJob("a", float("nan"))], "ValueError: payload cannot be stored"),
        (lambda event: [NewJob("a", "\ud800")], "ValueError: payload cannot be stored as JSON: a lone surrogate"),
        (lambda event: [NewJob("a", key=True)], "ValueError: key must be"),
        (lambda event: (NewJob("a") for _ in iter(int, 1)), f"ValueError: an event makes at most {MOST_JOBS} jobs"),
    ],
)
def test_whatever_a_route_does_is_a_fault_and_makes_no_job(function: Callable[[Event], Any], fault: str) -> None:
    jobs, said = routed(function)
    assert jobs == []
    assert said is not None
    assert said.startswith(fault)


def test_a_fault_holds_no_secret_not_even_a_half() -> None:
    secret = "s3cret" * 20
    text = "x" * 4080 + secret + "x" * 20_000_000
    _, fault = routed(raising(ValueError(text)), lambda text: text.replace(secret, "***"))
    assert fault is not None
    assert "s3c" not in fault
    assert len(fault.encode()) <= 4096
