"""The primitives that check a request, and the keys of deliveries."""

from __future__ import annotations

import base64
import gzip
import hashlib
import hmac as reference

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemill.errors import ConfigurationError
from tidemill.model import Accepted, Refused, Request
from tidemill.verify import Verify, header, hmac_sha256, json_path, secret_header, single

BODY = b'{"b":1, "a":"\\u003c", "a":2}\xff'
SECRET = "correct horse"


def request(*headers: tuple[str, str], body: bytes = BODY) -> Request:
    return Request("POST", "https://example.test/hooks/shop", list(headers), body)


def digest(secret: str | bytes = SECRET, body: bytes = BODY) -> bytes:
    return reference.new(secret.encode() if isinstance(secret, str) else secret, body, hashlib.sha256).digest()


def check(verify: Verify, *headers: tuple[str, str], secret: str = SECRET, body: bytes = BODY) -> object:
    return verify(request(*headers, body=body), {"S": secret}, 0)


bare = hmac_sha256("X-Sig", secret="S")


def test_bare_hex_of_the_raw_body_is_accepted() -> None:
    """B11: multibyte, escapes, duplicate keys and bytes that are no UTF-8."""
    assert check(bare, ("X-Sig", digest().hex())) == Accepted()


@pytest.mark.parametrize("name", ["X-Sig", "x-sig", "X-SIG"])
def test_the_case_of_the_header_makes_no_difference(name: str) -> None:
    """B19."""
    assert check(bare, (name, digest().hex())) == Accepted()


def test_hex_in_capitals_is_accepted() -> None:
    assert check(bare, ("X-Sig", digest().hex().upper())) == Accepted()


def test_a_prefix_is_demanded_when_there_is_to_be_one() -> None:
    github = hmac_sha256("X-Hub-Signature-256", secret="S", prefix="sha256=")
    assert check(github, ("X-Hub-Signature-256", f"sha256={digest().hex()}")) == Accepted()
    refused = check(github, ("X-Hub-Signature-256", digest().hex()))
    assert refused == Refused("X-Hub-Signature-256 does not begin with 'sha256='")


def test_base64_is_accepted_where_it_is_the_encoding() -> None:
    shopify = hmac_sha256("X-Shopify-Hmac-Sha256", secret="S", encoding="base64")
    assert check(shopify, ("X-Shopify-Hmac-Sha256", base64.b64encode(digest()).decode())) == Accepted()
    assert isinstance(check(shopify, ("X-Shopify-Hmac-Sha256", digest().hex())), Refused)


def test_a_body_that_was_changed_by_a_byte_is_refused() -> None:
    refused = check(bare, ("X-Sig", digest().hex()), body=BODY + b" ")
    assert refused == Refused("the signature in X-Sig does not match")


def test_a_request_without_the_header_is_refused() -> None:
    """B18."""
    assert check(bare) == Refused("there is no X-Sig header")
    assert check(bare, ("X-Sig", "")) == Refused("there is no X-Sig header")


@pytest.mark.parametrize(
    "value",
    [
        "é",
        "zz" * 32,
        "a",
        digest().hex()[:-1],
        digest().hex() + "0",
        f"{digest().hex()[:32]} {digest().hex()[32:]}",
        "٣" * 64,
    ],
)
def test_what_is_not_hex_is_refused_and_raises_nothing(value: str) -> None:
    """B18."""
    assert check(bare, ("X-Sig", value)) == Refused("X-Sig is not hex")


@pytest.mark.parametrize("value", ["é", "====", "YQ", "YQ==\n!", "\ud800"])
def test_what_is_not_base64_is_refused_and_raises_nothing(value: str) -> None:
    """B18."""
    verify = hmac_sha256("X-Sig", secret="S", encoding="base64")
    assert check(verify, ("X-Sig", value)) == Refused("X-Sig is not base64")


@given(st.text())
def test_no_header_value_makes_a_verification_raise(value: str) -> None:
    assert isinstance(check(bare, ("X-Sig", value)), Refused)
    assert isinstance(check(secret_header("X-Sig", secret="S"), ("X-Sig", value)), Refused)


@pytest.mark.parametrize("secret", ["", " ", ",", " , "])
def test_no_secret_means_that_nothing_is_accepted(secret: str) -> None:
    """B14: an HMAC with the empty key could be made by anyone."""
    assert check(bare, ("X-Sig", digest(secret).hex()), secret=secret) == Refused("its secret is not set")
    assert check(bare, ("X-Sig", digest("").hex()), secret=secret) == Refused("its secret is not set")
    assert bare(request(("X-Sig", digest("").hex())), {}, 0) == Refused("its secret is not set")
    assert isinstance(check(secret_header("X-T", secret="S"), ("X-T", secret), secret=secret), Refused)


@pytest.mark.parametrize("key", ["old", "new"])
def test_each_of_several_secrets_is_tried(key: str) -> None:
    assert check(bare, ("X-Sig", digest(key).hex()), secret="new, old") == Accepted()


@pytest.mark.parametrize("key", ["", " ", "real,", "real,, "])
def test_a_blank_entry_among_the_secrets_is_no_key(key: str) -> None:
    """B15."""
    assert isinstance(check(bare, ("X-Sig", digest(key).hex()), secret="real,, "), Refused)
    assert check(bare, ("X-Sig", digest("real").hex()), secret="real,, ") == Accepted()


@pytest.mark.parametrize("stored", ["abc\n", "abc\r\n", "\tabc ", "abc"])
def test_white_space_around_a_stored_secret_is_not_part_of_it(stored: str) -> None:
    """B16."""
    assert check(bare, ("X-Sig", digest("abc").hex()), secret=stored) == Accepted()


def test_a_secret_that_is_not_ascii_verifies() -> None:
    """B18."""
    assert check(bare, ("X-Sig", digest("schlüssel").hex()), secret="schlüssel") == Accepted()
    assert check(secret_header("X-T", secret="S"), ("X-T", "schlüssel"), secret="schlüssel") == Accepted()


def test_a_secret_from_an_environment_that_is_not_utf8_stands_for_its_bytes() -> None:
    stored = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert check(bare, ("X-Sig", digest(b"caf\xe9").hex()), secret=stored) == Accepted()


def test_the_secret_itself_in_a_header_is_accepted_and_no_other() -> None:
    verify = secret_header("X-Token", secret="S")
    assert check(verify, ("x-token", SECRET)) == Accepted()
    assert check(verify, ("x-token", "other")) == Refused("the secret in X-Token does not match")
    assert check(verify, ("x-token", "é")) == Refused("the secret in X-Token does not match")
    assert check(verify) == Refused("there is no X-Token header")


@pytest.mark.parametrize("verify", [bare, secret_header("X-Sig", secret="S")])
def test_two_signatures_are_refused_in_whatever_way_they_come(verify: Verify) -> None:
    """B20."""
    good = SECRET if verify is not bare else digest().hex()
    expected = Refused("the header X-Sig has several values")
    assert check(verify, ("X-Sig", "bad"), ("x-sig", good)) == expected
    assert check(verify, ("X-Sig", f"bad,{good}")) == expected
    assert check(verify, ("X-Sig", good), ("X-Sig", "")) == expected
    assert check(verify, ("X-Sig", f"{good},")) == expected


def test_one_signature_twice_is_one() -> None:
    value = digest().hex()
    assert check(bare, ("X-Sig", value), ("x-sig", value)) == check(bare, ("X-Sig", f"{value}, {value}")) == Accepted()


def test_a_reason_holds_neither_the_secret_nor_what_was_sent() -> None:
    for verify in (bare, secret_header("X-Sig", secret="S")):
        reason = str(check(verify, ("X-Sig", digest("forged").hex())))
        assert SECRET not in reason
        assert digest("forged").hex() not in reason


def test_a_verification_says_which_settings_and_headers_are_secret() -> None:
    assert (bare.secrets, bare.headers) == (("S",), ("X-Sig",))
    other = secret_header("X-T", secret="T")
    assert (other.secrets, other.headers) == (("T",), ("X-T",))


@pytest.mark.parametrize(
    ("name", "secret", "encoding", "said"),
    [
        ("", "S", "hex", "header must be a name"),
        ("X", " ", "hex", "secret must be a name"),
        ("X", "S", "base32", "encoding must be one of hex, base64, not 'base32'"),
    ],
)
def test_a_verification_that_cannot_work_is_refused_at_load(name: str, secret: str, encoding: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        hmac_sha256(name, secret=secret, encoding=encoding)


def test_a_secret_header_without_a_setting_is_refused_at_load() -> None:
    with pytest.raises(ConfigurationError, match="secret must be a name"):
        secret_header("X", secret="")


def test_the_value_of_a_header_is_a_key() -> None:
    assert header("X-Id")(request(("x-ID", " 42 "))) == "42"
    assert header("X-Id")(request()) is None
    assert header("X-Id")(request(("X-Id", ""))) is None


def test_two_delivery_ids_are_refused_in_whatever_way_they_come() -> None:
    """B20."""
    refused = Refused("the header X-Id has several values")
    assert single(request(("X-Id", "a"), ("X-Id", "b")), "x-id") == Refused("the header x-id has several values")
    assert header("X-Id")(request(("X-Id", "a"), ("X-Id", "b"))) == refused
    assert header("X-Id")(request(("X-Id", "a,b"))) == refused


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("id", "e1"),
        ("$.id", "e1"),
        ("data.object.id", 7),
        ("items[1].id", "second"),
        ("rate", "1.5"),
        ("whole", "42"),
        ("zero", 0),
        ("yes", None),
        ("none", None),
        ("data", None),
        ("items", None),
        ("absent", None),
        ("id.absent", None),
        ("id[0]", None),
        ("data[0]", None),
        ("items.id", None),
        ("items[9].id", None),
        ("none.id", None),
    ],
)
def test_a_path_leads_to_a_key_or_to_none(path: str, key: str | int | None) -> None:
    """B30: what is no text and no number is no key."""
    body = b"""{"id": "e1", "data": {"object": {"id": 7}}, "items": [{"id": "first"}, {"id": "second"}], "rate": 1.5,
               "whole": 42.0, "zero": 0, "yes": true, "none": null}"""
    found = json_path(path)(request(body=body))
    assert (found, type(found)) == (key, type(key))


@pytest.mark.parametrize("body", [b"", b"a=1", b'{"id"', b"\xff", b"[" * 20_000 + b"]" * 20_000, b'{"id":NaN}', b"null"])
def test_a_body_without_json_has_no_key(body: bytes) -> None:
    """B06."""
    assert json_path("id")(request(body=body)) is None


def test_a_key_is_found_behind_a_byte_order_mark_and_behind_compression() -> None:
    """B07, B08."""
    body = b'\xef\xbb\xbf{"id": 5}'
    assert json_path("id")(request(body=body)) == 5
    assert json_path("id")(request(("Content-Encoding", "gzip"), body=gzip.compress(body))) == 5
    assert json_path("id")(request(("Content-Encoding", "br"), body=body)) is None


@pytest.mark.parametrize("path", ["", "$", "a..b", "a.", ".a.", "a[x]", "a[-1]", "a[", "a]b"])
def test_a_path_that_leads_nowhere_by_its_form_is_refused_at_load(path: str) -> None:
    with pytest.raises(ConfigurationError, match="json_path must be like"):
        json_path(path)
