"""The address that a sender called, and how it may be written."""

from __future__ import annotations

import pytest
from tidemill import Request
from tidemill.verify import (
    called,
    with_and_without_port,
    with_signs_decoded,
)

NOW = 1_800_000_000
SECRET = "correct-horse-7"
URL = "https://x.test/hooks/x"


def request(body: bytes = b"", *headers: tuple[str, str], url: str = URL, source_ip: str = "") -> Request:
    return Request("POST", url, list(headers), body, source_ip)


@pytest.mark.parametrize(
    ("url", "base", "expected"),
    [
        ("http://10.0.0.7:8000/hooks/x?a=%20&b", "https://h.test", "https://h.test/hooks/x?a=%20&b"),
        ("http://10.0.0.7:8000/prod/hooks/x", "https://h.test/", "https://h.test/hooks/x"),
        ("https://h.test/base/hooks/x?q", "https://h.test/base", "https://h.test/base/hooks/x?q"),
        ("https://a.test/hooks/x?u=/hooks/y", "https://h.test", "https://h.test/hooks/x?u=/hooks/y"),
        ("https://a.test/elsewhere?q", "https://h.test", "https://h.test/elsewhere?q"),
        ("https://a.test?q", "https://h.test", "https://h.test?q"),
        ("https://h.test.evil/hooks/x", "https://h.test", "https://h.test/hooks/x"),
        ("https://a.test/hooks/x", "", "https://a.test/hooks/x"),
        ("", "https://h.test", "https://h.test"),
    ],
)
def test_the_address_that_was_called_is_the_public_one(url: str, base: str, expected: str) -> None:
    assert called(request(url=url), {"PUBLIC_URL": base}) == expected


def test_the_public_address_of_a_source_goes_before_the_one_of_the_settings() -> None:
    sent = request(url="https://other.test/hooks/x?q")
    assert called(sent, {"PUBLIC_URL": "https://other.test"}, "https://h.test/b") == "https://h.test/b/hooks/x?q"


@pytest.mark.parametrize(
    ("url", "spellings"),
    [
        ("https://h.test/a?b:c", ["https://h.test/a?b:c", "https://h.test:443/a?b:c"]),
        ("http://h.test", ["http://h.test", "http://h.test:80"]),
        ("https://h.test:8443/a", ["https://h.test/a", "https://h.test:8443/a"]),
        ("junk", ["junk"]),
    ],
)
def test_an_address_has_a_port_or_not(url: str, spellings: list[str]) -> None:
    assert with_and_without_port(url) == spellings


def test_hubspot_decodes_some_signs_and_no_others() -> None:
    decoded = "https://h.test/a?b=:/?@!$'()*,;&c=%26%20%C3%BC"
    encoded = "https://h.test/a?b=%3A%2f%3F%40%21%24%27%28%29%2A%2C%3b&c=%26%20%C3%BC"
    assert with_signs_decoded(encoded) == [encoded, decoded]
    assert with_signs_decoded(decoded) == [decoded]
