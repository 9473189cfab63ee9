"""Verifications made of others, handshakes, and keys made of several places."""

from __future__ import annotations

import pytest
from tidemill import Accepted, Refused, Reply
from tidemill.verify import (
    after,
    all_of,
    any_of,
    before,
    constant,
    first_of,
    form_field,
    header,
    header_is,
    json_path,
    json_paths,
    keyed,
    secret_header,
    single,
)

from tests.senders.checking import SECRET, check, request

one, two = secret_header("X-One", secret="S"), secret_header("X-Two", secret="T")
BOTH = {"S": SECRET, "T": "other"}


def test_any_of_takes_what_one_takes_and_tells_all_reasons() -> None:
    verify = any_of(one, two)
    assert check(verify, request(b"", ("X-Two", "other")), BOTH) == Accepted()
    assert check(verify, request(), BOTH) == Refused("there is no X-One header; there is no X-Two header")
    assert (verify.secrets, verify.headers) == (("S", "T"), ("X-One", "X-Two"))


def test_all_of_takes_what_all_take() -> None:
    verify = all_of(one, keyed(two, header("X-Id")))
    headers = (("X-One", SECRET), ("X-Two", "other"), ("X-Id", "7"))
    assert check(verify, request(b"", *headers), BOTH) == Accepted("7")
    for missing in headers[:2]:
        assert isinstance(check(verify, request(b"", *(h for h in headers if h != missing)), BOTH), Refused)


def test_the_key_of_the_signed_id_is_taken_and_no_other() -> None:
    """A delivery with the one pair of headers, and an id of the other beside it, keeps its own."""
    verify = any_of(keyed(one, header("X-Id-One")), keyed(two, header("X-Id-Two")))
    assert check(verify, request(b"", ("X-Two", "other"), ("X-Id-Two", "2"), ("X-Id-One", "1")), BOTH) == Accepted("2")
    twice = request(b"", ("X-Two", "other"), ("X-Id-Two", "2"), ("X-Id-Two", "3"))
    assert isinstance(check(keyed(two, header("X-Id-Two")), twice, BOTH), Refused)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a"], "a"), (["a", "a"], "a"), (["a,a"], "a"), ([" a , a "], "a"), (["a", "a", "a"], "a"),
        ([], None), ([""], None), (["", ""], None),
        (["a", "b"], Refused), (["a,b,a,b"], Refused), (["a,"], Refused), (["a", ""], Refused),
    ],
)  # fmt: skip
def test_a_single_header_has_one_value_in_whatever_way_it_comes(values: list[str], expected: object) -> None:
    """B20."""
    found = single(request(b"", *(("X-A", value) for value in values)), "x-a")
    assert isinstance(found, Refused) if expected is Refused else found == expected


@pytest.mark.parametrize(
    ("body", "key"),
    [
        (b'{"items":[{"id":1},{"id":"b"}]}', "1,b"), (b'{"items":[{"id":1}]}', "1"), (b'{"items":[]}', None),
        (b'{"items":[{"id":1},{}]}', None), (b'{"items":[{"id":1},{"id":null}]}', None), (b'{"items":{}}', None),
        (b'{"items":[{"id":1},{"id":""}]}', None), (b"[]", None), (b"x", None),
    ],
)  # fmt: skip
def test_the_key_of_a_batch_is_made_of_all_its_ids_or_there_is_none(body: bytes, key: str | None) -> None:
    assert json_path("items[*].id")(request(body)) == key


def test_a_key_of_several_places_needs_all_of_them() -> None:
    key = json_paths("a", "b.c")
    assert key(request(b'{"a":"x","b":{"c":2}}')) == "x:2"
    assert key(request(b'{"a":"x","b":{}}')) is None
    batch = json_paths("a", "b", each="[*]")
    assert batch(request(b'[{"a":1,"b":2},{"a":3,"b":4}]')) == "1:2,3:4"
    assert batch(request(b'[{"a":1,"b":2},{"a":3}]')) is None
    assert batch(request(b"[]")) is None


def test_the_first_key_that_there_is_counts() -> None:
    key = first_of(json_path("id"), form_field("trigger_id"))
    assert key(request(b'{"id":0}')) == 0
    assert key(request(b"a=1&trigger_id=1.2")) == "1.2"
    assert key(request(b"\xff")) is None


def test_a_handshake_is_no_way_around_a_verification() -> None:
    greeting = constant(Reply(200, "text/plain", "hi"), header_is("X-Hello", "1"))
    hello = ("X-Hello", "1")
    assert check(before(greeting, one), request(b"", hello)) == Reply(200, "text/plain", "hi")
    assert check(before(greeting, one), request()) == Refused("there is no X-One header")
    assert check(after(one, greeting), request(b"", hello)) == Refused("there is no X-One header")
    assert check(after(one, greeting), request(b"", hello, ("X-One", SECRET))) == Reply(200, "text/plain", "hi")
    assert check(after(one, greeting), request(b"", ("X-One", SECRET))) == Accepted()
