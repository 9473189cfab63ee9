"""functions/intake: what has gone wrong between real senders and others who receive from them."""

from __future__ import annotations

import base64
import hmac
import json
import time
from itertools import permutations

import pytest
from tidemill.wire import Connection

from tests.functions.intake.conftest import Call, Event, MakeEvent, rows, v1, v2
from tests.functions.intake.known_senders import SECRETS

URL = "https://hooks.example.org"
BODY = b'{"id": "evt_1", "type": "ping"}'


@pytest.fixture
def environment(environment: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, value in {**SECRETS, "AUTOMATIONS": "tests.functions.intake.known_senders", "PUBLIC_URL": URL}.items():
        environment.setenv(name, value)
    return environment


def mac(secret: str, data: bytes, how: str = "sha256") -> bytes:
    return hmac.new(secret.encode(), data, how).digest()


def to_github(make: MakeEvent, body: bytes = BODY, delivery: str = "d-1", **headers: str) -> Event:
    signature = f"sha256={mac(SECRETS['GITHUB_WEBHOOK_SECRET'], body).hex()}"
    return make("/hooks/github", body, {"X-Hub-Signature-256": signature, "X-GitHub-Delivery": delivery, **headers})


@pytest.mark.parametrize("name", ["X-Hub-Signature-256", "x-hub-signature-256", "X-HUB-SIGNATURE-256"])
def test_a_header_in_any_case_is_the_same_delivery(call: Call, connection: Connection, name: str) -> None:
    """B19: format 1.0 keeps the sender's case, format 2.0 and other gateways do not."""
    signature = f"sha256={mac(SECRETS['GITHUB_WEBHOOK_SECRET'], BODY).hex()}"
    for make in (v1, v2):
        assert call(make("/hooks/github", BODY, {name: signature, "x-github-DELIVERY": "d-1"})).status == 202
    assert rows(connection, "dedup_key, redeliveries", "events") == [("d-1", 1)]


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/hooks/github", {"X-Hub-Signature-256": "sha256=é"}),
        ("/hooks/github", {"X-Hub-Signature-256": "sha256=\ud800"}),
        ("/hooks/github", {"X-Hub-Signature-256": "sha256="}),
        ("/hooks/github", {"X-Hub-Signature-256": "sha1=00"}),
        ("/hooks/github", {}),
        ("/hooks/telegram", {"X-Telegram-Bot-Api-Secret-Token": "é"}),
        ("/hooks/telegram", {"X-Telegram-Bot-Api-Secret-Token": ""}),
        ("/hooks/telegram", {}),
        ("/hooks/stripe", {"Stripe-Signature": "t=é,v1=é"}),
        ("/hooks/stripe", {"Stripe-Signature": "t=1"}),
        ("/hooks/stripe", {}),
        ("/hooks/twilio", {"X-Twilio-Signature": "é"}),
        ("/hooks/twilio", {}),
    ],
)
def test_a_signature_that_is_none_is_refused_and_no_fault_of_ours(
    call: Call, make: MakeEvent, capsys: pytest.CaptureFixture[str], path: str, headers: dict[str, str]
) -> None:
    """B18."""
    assert call(make(path, BODY, headers)).status == 401
    assert "ERROR" not in capsys.readouterr().out


def test_a_signature_of_the_address_does_not_vouch_for_a_body_of_another_type(call: Call, make: MakeEvent) -> None:
    """B13: Twilio signs address and form; another content type must not make the body go unchecked."""
    form = b"From=%2B15550100&Body=hello"
    address = f"{URL}/hooks/twilio"
    good = base64.b64encode(mac(SECRETS["TWILIO_WEBHOOK_SECRET"], f"{address}BodyhelloFrom+15550100".encode(), "sha1"))
    alone = base64.b64encode(mac(SECRETS["TWILIO_WEBHOOK_SECRET"], address.encode(), "sha1"))

    def status(body: bytes, signature: bytes, content_type: str) -> int:
        return call(
            make("/hooks/twilio", body, {"X-Twilio-Signature": signature.decode(), "Content-Type": content_type})
        ).status

    assert status(form, good, "application/x-www-form-urlencoded") == 202
    assert status(form.replace(b"hello", b"other"), good, "application/x-www-form-urlencoded") == 401
    for content_type in ("application/json", "text/plain", "application/x-www-form-urlencoded", ""):
        assert status(b'{"Body": "tampered"}', alone, content_type) == 401
        assert status(b"Body=tampered", alone, content_type) == 401


@pytest.mark.parametrize("between", [",", ", "])
def test_a_signature_of_either_secret_lets_in_while_one_replaces_the_other(
    call: Call, make: MakeEvent, environment: pytest.MonkeyPatch, between: str
) -> None:
    """B21: in any order, and beside signatures of other schemes."""
    new = mac(SECRETS["STRIPE_WEBHOOK_SECRET"], f"{(at := int(time.time()))}.".encode() + BODY).hex()
    for parts in permutations([f"t={at}", f"v1={'0' * 64}", f"v1={new}", "v0=abc"]):
        assert call(make("/hooks/stripe", BODY, {"Stripe-Signature": between.join(parts)})).status == 202
    old = [f"t={at}", f"v1={'0' * 64}", f"v0={new}"]
    assert call(make("/hooks/stripe", BODY, {"Stripe-Signature": between.join(old)})).status == 401


def test_what_is_not_signed_proves_nothing(call: Call, make: MakeEvent, connection: Connection) -> None:
    """B23: whoever has recorded a delivery can send it again under another id, where the sender signs the body alone. It is
    taken for a new one; docs/refused.md says so."""
    assert call(to_github(make, delivery="d-1")).status == 202
    assert "duplicate" not in call(to_github(make, delivery="d-2")).body
    assert rows(connection, "dedup_key", "events") == [("d-1",), ("d-2",)]


def test_a_signed_time_that_is_too_old_is_refused(call: Call, make: MakeEvent) -> None:
    """B23: where the sender signs a time, what was recorded is worth nothing after five minutes."""
    for age, status in ((0, 202), (299, 202), (301, 401), (-301, 401)):
        at = int(time.time()) - age
        signature = mac(SECRETS["STRIPE_WEBHOOK_SECRET"], f"{at}.".encode() + BODY).hex()
        assert call(make("/hooks/stripe", BODY, {"Stripe-Signature": f"t={at},v1={signature}"})).status == status


def test_one_id_at_two_sources_of_one_sender_is_two_events(
    call: Call, make: MakeEvent, connection: Connection, environment: pytest.MonkeyPatch
) -> None:
    """B28: GitHub's id names the event, and two webhooks get the same one."""
    assert call(to_github(make, delivery="evt_1")).body["jobs"] == 1
    at = int(time.time())
    signature = mac(SECRETS["STRIPE_WEBHOOK_SECRET"], f"{at}.".encode() + BODY).hex()
    assert call(make("/hooks/stripe", BODY, {"Stripe-Signature": f"t={at},v1={signature}"})).body["jobs"] == 1
    assert rows(connection, "source, dedup_key", "events") == [("github", "evt_1"), ("stripe", "evt_1")]
    assert [json.loads(payload["body"])["id"] for (payload,) in rows(connection, "payload", "jobs")] == ["evt_1", "evt_1"]
