"""Signatures: how they are shown, what they are of, and how old they may be."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import pytest
from tidemill import Accepted, ConfigurationError, Refused
from tidemill.verify import (
    Signed,
    basic_auth,
    certificate_signature,
    hmac_sha256,
    hmac_signature,
    json_secret,
    key_signature,
    pairs,
    query_token,
    versions,
)

from tests.senders.checking import NOW, SECRET, URL, check, mac, request


def test_a_template_is_filled_with_all_that_a_sender_may_sign() -> None:
    template = (
        "{method}|{url}|{header:X-Id}|{json:a.b}|{json:list[0].c}|{json:none}|{json:yes}|{config:HOOK}|{crc32}|{ts}|{body}"
    )
    body = b'{"a":{"b":"\\u00fc"},"list":[{"c":5}],"none":null,"yes":true,"t":1800000000}'
    verify = hmac_signature(Signed("X-Sig", template, time="$.t"), secret="S")
    text = f"POST|{URL}|7|ü|5||true|hook-1|{crc32(body)}|{NOW}|".encode() + body
    sent = request(body, ("x-id", "7"), ("X-Sig", mac(text)))
    settings = {"S": SECRET, "HOOK": " hook-1\n"}
    assert check(verify, sent, settings) == Accepted()
    assert check(verify, sent) == Refused("the setting HOOK is missing")
    assert check(verify, request(body, ("X-Sig", mac(text))), settings) == Refused("there is no X-Id header")
    assert check(verify, request(body, ("X-Id", "7"), ("X-Id", "8"), ("X-Sig", mac(text))), settings) == Refused(
        "the header X-Id has several values"
    )


def crc32(data: bytes) -> int:
    """By its definition, bit by bit."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0xEDB88320 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


@pytest.mark.parametrize("template", ["{bodyy}", "{header}", "{json}", "{body:x}", "{ts:1}", "{config}", "{json:a..b}"])
def test_a_template_with_a_piece_that_there_is_not_is_refused_at_load(template: str) -> None:
    with pytest.raises(ConfigurationError, match="template"):
        Signed("X-Sig", template)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"signature": " "}, "header must be a name"),
        ({"signature": "X", "encoding": "base32"}, "encoding must be one of hex, base64, not 'base32'"),
        ({"signature": "X", "unit": "h"}, "unit must be one of s, ms, rfc3339, not 'h'"),
        ({"signature": "$.a..b"}, "signature must be like"),
        ({"signature": "$.a", "each": "b..c"}, "each must be like"),
    ],
)
def test_a_signature_that_cannot_be_is_refused_at_load(options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Signed(**options)  # type: ignore[arg-type]


def test_a_primitive_that_cannot_work_is_refused_at_load() -> None:
    signed = Signed("X-Sig")
    with pytest.raises(ConfigurationError, match="algorithm must be one of sha1, sha256, sha512, not 'md5'"):
        hmac_signature(signed, secret="S", algorithm="md5")
    with pytest.raises(ConfigurationError, match="key must be one of utf8, hex, base64, whsec, not 'b'"):
        hmac_signature(signed, secret="S", key="b")
    with pytest.raises(ConfigurationError, match="kind must be one of ed25519, ecdsa-p256, not 'rsa'"):
        key_signature("rsa", signed, setting="K")
    with pytest.raises(ConfigurationError, match="setting must be a name"):
        key_signature("ed25519", signed, setting="")
    with pytest.raises(ConfigurationError, match="addresses must begin with https://"):
        certificate_signature(lambda *_: Refused("no"), addresses="http://x.test/.*")
    for make in (lambda: basic_auth(secret=""), lambda: query_token("", secret="S"), lambda: json_secret("a", secret="")):
        with pytest.raises(ConfigurationError, match="must be a name"):
            make()


@pytest.mark.parametrize(
    ("value", "genuine"),
    [
        ("t={t},v1={good}", True),
        ("t={t},v1={bad},v1={good}", True),
        ("v1={good},t={t}", True),
        ("t={t}, v1={good}", True),
        ("t={t},v1={good},v0={bad},x=1,y", True),
        ("t={t},v1={good},t={t},v1={good}", True),  # the same header twice, joined
        ("t={t},v1={bad}", False),
        ("t={t},v0={good}", False),
        ("t={t},t={t},v1={good}", False),
        ("t={t},v1={bad},t={t},v1={good}", False),  # two headers, joined
        ("t={t},v1={good},t=1", False),
        ("v1={good}", False),
        ("t={t}", False),
        ("t={t};v1={good}", False),
        ("t={t},v1={good},v1=zz", False),
    ],
)
def test_pairs_have_one_time_and_any_of_their_signatures(value: str, genuine: bool) -> None:
    """B21."""
    verify = hmac_signature(Signed("X-Sig", "{ts}.{body}", form=pairs("t", "v1")), secret="S")
    shown = value.format(t=NOW, good=mac(b"1800000000.{}"), bad="00" * 32)
    assert isinstance(check(verify, request(b"{}", ("X-Sig", shown))), Accepted if genuine else Refused)


@pytest.mark.parametrize(
    ("value", "genuine"),
    [
        ("v1,{good}", True),
        ("v1,{bad} v1,{good}", True),
        ("v2,x v1,{good}  v1a,y", True),
        ("v1,{good},v1,{good}", True),
        ("v1,{bad},v1,{good}", False),
        ("{good}", False),
        ("v2,{good}", False),
        ("v1,{good} v1,zz", False),
        ("v1{good}", False),
    ],
)
def test_versions_are_divided_by_spaces_and_any_may_match(value: str, genuine: bool) -> None:
    verify = hmac_signature(Signed("X-Sig", form=versions("v1")), secret="S")
    shown = value.format(good=mac(b"{}"), bad="00" * 32)
    assert isinstance(check(verify, request(b"{}", ("X-Sig", shown))), Accepted if genuine else Refused)


def test_each_item_of_a_batch_must_be_genuine_and_an_empty_one_proves_nothing() -> None:
    verify = hmac_signature(Signed("$.sig", "{json:id}", each="items[*]"), secret="S")
    good, other = {"id": 1, "sig": mac(b"1")}, {"id": 2, "sig": mac(b"2")}
    sent = {"both": [good, other], "forged": [good, {**other, "id": 3}], "unsigned": [good, {"id": 2}], "null": [good, None]}
    verdicts = {name: check(verify, request(json.dumps({"items": items}).encode())) for name, items in sent.items()}
    assert verdicts["both"] == Accepted()
    assert all(isinstance(verdicts[name], Refused) for name in ("forged", "unsigned", "null"))
    assert check(verify, request(b'{"items":[]}')) == Refused("an empty batch proves nothing")
    for body in (b"{}", b'{"items":{}}', b"[]", b"", b"\xff", b"[" * 300 + b"]" * 300):
        assert check(verify, request(body)) == Refused("the body is not JSON of the right form")


@pytest.mark.parametrize(
    "time", ["", "-1800000000", "+1800000000", "1_800_000_000", "\uff11\uff18", "1800000000.0", "9" * 17, "1" * 5000]
)
def test_a_timestamp_is_digits(time: str) -> None:
    verify = hmac_signature(Signed("X-Sig", "{ts}", time="X-Time", tolerance=None), secret="S")
    verdict = check(verify, request(b"", ("X-Sig", mac(time.encode())), ("X-Time", time)))
    assert isinstance(verdict, Refused)
    assert "raised" not in verdict.reason


@pytest.mark.parametrize(
    ("time", "right"),
    [
        ("2027-01-15T08:00:00Z", True),
        ("2027-01-15T08:00:00.123456789Z", True),
        ("2027-01-15T10:00:00+02:00", True),
        ("2027-01-15t08:00:00z", True),
        ("2027-01-15T08:00:00", False),
        ("2027-01-15 08:00:00Z", False),
        ("20270115T080000Z", False),
        ("2027-02-30T08:00:00Z", False),
        ("0000-01-01T00:00:00Z", False),
        ("2027-01-15T08:00:61Z", False),
        ("1800000000", False),
    ],
)
def test_a_timestamp_of_rfc_3339_has_a_day_a_time_and_a_zone(time: str, right: bool) -> None:
    verify = hmac_signature(Signed("X-Sig", "{ts}", time="X-Time", unit="rfc3339", tolerance=1), secret="S")
    verdict = check(verify, request(b"", ("X-Sig", mac(time.encode())), ("X-Time", time)))
    assert isinstance(verdict, Accepted if right else Refused)


def test_a_form_of_endless_fields_is_refused() -> None:
    verify = hmac_signature(Signed("X-Sig", "{form}"), secret="S")
    assert check(verify, request(b"&".join([b"a=1"] * 10_000), ("X-Sig", mac(b"a1")))) == Accepted()
    many = request(b"&".join([b"a=1"] * 10_001), ("X-Sig", mac(b"a1")))
    assert check(verify, many) == Refused("the form has more than 10000 fields")


@pytest.mark.parametrize("key", ["hex", "base64", "whsec"])
def test_a_secret_that_is_not_what_it_should_be_refuses_and_names_its_setting(key: str) -> None:
    verify = hmac_signature(Signed("X-Sig"), secret="S", key=key)
    signature = hmac.new(b"", b"{}", hashlib.sha256).hexdigest()
    verdict = check(verify, request(b"{}", ("X-Sig", signature)), {"S": "!not it!"})
    assert verdict == Refused(f"the setting S is not {key}")


def test_base64_has_one_spelling() -> None:
    verify = hmac_sha256("X-Sig", secret="S", encoding="base64")
    good = base64.b64encode(bytes.fromhex(mac(b""))).decode()
    assert check(verify, request(b"", ("X-Sig", good))) == Accepted()
    bits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = good[:-2] + bits[bits.index(good[-2]) ^ 1] + "="
    assert base64.b64decode(other) == base64.b64decode(good)
    for value in (other, good.rstrip("="), good + "=", f"{good[:4]} {good[4:]}"):
        assert check(verify, request(b"", ("X-Sig", value))) == Refused("X-Sig is not base64")
