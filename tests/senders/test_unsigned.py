"""Verifications without a signature: secrets that are sent, networks, and a digest over fields."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemill import Accepted, ConfigurationError, Refused, Request
from tidemill.verify import (
    Signed,
    basic_auth,
    fields_digest,
    from_networks,
    hmac_signature,
    json_secret,
    pairs,
    query_token,
)
from tidemill.verify.reading import query_of

from tests.senders.checking import SECRET, URL, check, request


def test_the_digest_over_fields_leaves_out_what_is_no_scalar_and_keeps_numbers_as_they_were_sent() -> None:
    verify = fields_digest("Token", secret="S", secret_field="Password")
    token = hashlib.sha256(f"1.10falsex{SECRET}7é".encode()).hexdigest()  # A, B, C, Password, Z, é
    body = f'{{"Z":7,"B":false,"A":1.10,"C":"x","é":"é","D":null,"E":[1],"F":{{}},"Token":"{token}"}}'
    assert check(verify, request(body.encode())) == Accepted()
    assert isinstance(check(verify, request(body.replace("1.10", "1.1").encode())), Refused)
    assert isinstance(check(verify, request(body.replace('"D":null', f'"Password":"{SECRET}"').encode())), Refused)
    for odd in ('""', "5", "null", "[]", '"zz"'):
        assert isinstance(check(verify, request(f'{{"Token":{odd}}}'.encode())), Refused)


def test_basic_authentication_compares_user_and_password() -> None:
    settings = {"S": "old:one, hook:päss"}
    shown = base64.b64encode("hook:päss".encode()).decode()
    verify = basic_auth(secret="S")
    for scheme in ("Basic", "basic"):
        assert check(verify, request(b"", ("authorization", f"{scheme} {shown}")), settings) == Accepted()
    for value in (shown, f"Bearer {shown}", "Basic", "Basic ", f"Basic {shown[:-4]}", "Basic é"):
        assert isinstance(check(verify, request(b"", ("authorization", value)), settings), Refused)
    assert verify.headers == ("Authorization",)


@pytest.mark.parametrize(
    ("query", "genuine"),
    [("?token=correct-horse-7", True), ("?a=1&token=correct%2Dhorse-7", True), ("?token=x", False), ("?token=", False),
     ("", False), ("?token=correct-horse-7&token=x", False), ("#?token=correct-horse-7", False),
     ("?TOKEN=correct-horse-7", False)],
)  # fmt: skip
def test_a_token_in_the_address_must_be_the_secret(query: str, genuine: bool) -> None:
    verify = query_token("token", secret="S")
    assert isinstance(check(verify, request(url=URL + query)), Accepted if genuine else Refused)


def test_a_parameter_that_comes_twice_has_no_value() -> None:
    found = [query_of(request(url=URL + query), "a") for query in ("?a=1&a=2", "?a=1&a=1", "?a=%31&a=1", "?b=1", "?a")]
    assert found == [None, "1", "1", None, ""]


def test_a_secret_in_the_body_must_be_in_every_item() -> None:
    verify = json_secret("state", secret="S", each="value[*]")
    good = {"state": SECRET}
    assert check(verify, request(json.dumps({"value": [good, good]}).encode())) == Accepted()
    for items in ([good, {"state": "x"}], [good, {}], [], [good, {"state": None}], [{"state": [SECRET]}], None):
        assert isinstance(check(verify, request(json.dumps({"value": items}).encode())), Refused)
    alone = json_secret("state", secret="S")
    assert check(alone, request(json.dumps(good).encode())) == Accepted()
    assert isinstance(check(alone, request(b'{"state":null}'), {"S": "None"}), Refused)


@pytest.mark.parametrize(
    ("address", "inside"),
    [
        ("192.0.2.1", True), ("192.0.2.255", True), ("192.0.3.0", False), ("198.51.100.7", True), ("198.51.100.8", False),
        ("2001:db8::1", True), ("2001:db9::1", False), ("::ffff:192.0.2.1", True), ("::ffff:192.0.3.1", False), ("", False),
        ("192.0.2.1:443", False), ("192.0.2.1, 10.0.0.1", False), ("junk", False), ("3221225985", False),
    ],
)  # fmt: skip
def test_the_address_of_the_transport_must_lie_in_a_network(address: str, inside: bool) -> None:
    verify = from_networks(["192.0.2.0/24", "198.51.100.7", "2001:db8::/32"])
    sent = request(b"", ("X-Forwarded-For", "192.0.2.1"), source_ip=address)
    assert isinstance(check(verify, sent, {}), Accepted if inside else Refused)


@pytest.mark.parametrize("networks", [[], ["192.0.2.1/24"], ["x"], [""]])
def test_a_network_that_is_none_is_refused_at_load(networks: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="from_networks"):
        from_networks(networks)


@given(st.binary(max_size=200), st.lists(st.tuples(st.sampled_from(["X-Sig", "X-Time", "x-sig"]), st.text(max_size=40))))
def test_no_request_makes_a_verification_raise(body: bytes, headers: list[tuple[str, str]]) -> None:
    sent = Request("POST", f"{URL}?token={headers}", headers, body, "x")
    template = "{method}{url}{form}{ts}{json:a}"
    for verify in (
        hmac_signature(Signed("X-Sig", template, time="X-Time"), secret="S"),
        hmac_signature(Signed("$.a", form=pairs("t", "v1")), secret="S"),
        fields_digest("a", secret="S", secret_field="p"),
        json_secret("a", secret="S", each="b[*]"),
        query_token("token", secret="S"),
        basic_auth(secret="S"),
    ):
        assert isinstance(check(verify, sent), Refused)
