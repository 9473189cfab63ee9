"""Each preset: a delivery signed by hand is genuine, under its key; and not with a byte of it changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tidemill import Accepted, Refused, senders
from tidemill.source import Source

from tests.senders.samples import NOW, SAMPLES, SETTINGS, Sample

# Whose bodies are not signed as a whole: they have tests of their own.
IN_PARTS = {"gitlab_token", "telegram", "postmark", "msgraph", "mailgun", "tbank", "adyen"}
TOLERANCES = {
    "linear": 60, "stripe": 300, "calendly": 180, "paddle": 300, "standardwebhooks": 300, "svix": 300, "openai": 300,
    "gitlab": 300, "slack": 300, "zoom": 300, "twitch": 600, "hubspot": 300, "mailgun": 300,
}  # fmt: skip
each = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)


@each
def test_a_delivery_is_genuine_with_the_second_of_two_secrets_and_has_its_key(sample: Sample) -> None:
    assert sample.check(sample.request) == Accepted(sample.key)


@each
def test_a_delivery_is_genuine_whatever_the_case_of_its_headers(sample: Sample) -> None:
    """B19."""
    upper = [(name.upper(), value) for name, value in sample.headers]
    assert sample.check(replace(sample.request, headers=upper)) == Accepted(sample.key)


@each
def test_a_delivery_by_another_secret_is_refused(sample: Sample) -> None:
    settings = {"S": "another-secret", "W": f"whsec_{'A' * 32}", "A": "00ff"}
    assert isinstance(sample.source.check(sample.request, settings, NOW), Refused)


@each
def test_without_a_secret_nothing_is_genuine(sample: Sample) -> None:
    """B14."""
    for settings in ({}, dict.fromkeys("SWA", ""), dict.fromkeys("SWA", " , ")):
        assert isinstance(sample.source.check(sample.request, settings, NOW), Refused)
        assert set(sample.source.missing(settings)) >= {next(iter(set("SWA") & set(sample.source.secrets)))}


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in IN_PARTS])
def test_a_changed_body_is_refused(name: str) -> None:
    sample = SAMPLES[name]
    for body in (sample.body + b" ", sample.body[1:], b"", sample.body[:-1] + b"\xff"):
        assert isinstance(sample.check(replace(sample.request, body=body)), Refused)


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample.source.secret_headers])
@pytest.mark.parametrize("value", ["", "é", "\udc80", "=", "v1,", "v0=", "sha256=", "t=1,v1=", "Basic é", "00"])
def test_a_secret_header_that_says_nothing_is_refused(name: str, value: str) -> None:
    """B18: and nothing raises."""
    sample = SAMPLES[name]
    headers = [(n, value if n.lower() in sample.source.secret_headers else v) for n, v in sample.headers]
    verdict = sample.check(replace(sample.request, headers=headers))
    assert isinstance(verdict, Refused)
    assert "raised" not in verdict.reason


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample.source.secret_headers])
def test_a_second_value_of_a_secret_header_is_refused_in_whatever_way_it_comes(name: str) -> None:
    """B20."""
    sample = SAMPLES[name]
    ((header, value),) = [one for one in sample.headers if one[0].lower() in sample.source.secret_headers]
    others = [one for one in sample.headers if one[0] != header]
    forged = value[:-6] + "000000"
    for values in ((value, forged), (forged, value), (f"{value},{forged}",), (f"{forged}, {value}",)):
        headers = others + [(header, one) for one in values]
        assert isinstance(sample.check(replace(sample.request, headers=headers)), Refused)
    for values in ((value, value), (f"{value}, {value}",)):
        headers = others + [(header, one) for one in values]
        assert sample.check(replace(sample.request, headers=headers)) == Accepted(sample.key)


@pytest.mark.parametrize(("name", "tolerance"), TOLERANCES.items())
def test_a_time_counts_up_to_its_tolerance_both_ways(name: str, tolerance: int) -> None:
    sample = SAMPLES[name]
    edge = 0.1235 if name == "twitch" else 0.0  # its time has a fraction
    for now in (NOW - tolerance + edge, NOW + tolerance):
        assert sample.check(sample.request, now) == Accepted(sample.key)
    assert sample.check(sample.request, NOW + tolerance + 1) == Refused(refused(name, "old"))
    assert sample.check(sample.request, NOW - tolerance - 1) == Refused(refused(name, "new"))


def refused(name: str, way: str) -> str:
    return f"the timestamp is too {way}" + ("; there is no webhook-signature header" if name == "svix" else "")


@pytest.mark.parametrize("name", TOLERANCES)
def test_a_tolerance_can_be_another_or_none(name: str) -> None:
    sample = SAMPLES[name]
    setting = sample.source.secrets[0]
    make: Callable[..., Source] = getattr(senders, name)
    wide, any_time = make("x", secret=setting, tolerance=10_000), make("x", secret=setting, tolerance=None)
    assert wide.check(sample.request, SETTINGS, NOW + 9_999) == Accepted(sample.key)
    assert isinstance(wide.check(sample.request, SETTINGS, NOW + 10_001), Refused)
    assert any_time.check(sample.request, SETTINGS, 0) == Accepted(sample.key)


def test_settings_are_named_after_the_source() -> None:
    assert senders.stripe().secrets == ("STRIPE_WEBHOOK_SECRET",)
    assert senders.stripe("stripe-eu").secrets == ("STRIPE_EU_WEBHOOK_SECRET",)
    assert senders.stripe(secret="BILLING").secrets == ("BILLING",)
    assert senders.whatsapp("wa").secrets == ("WA_WEBHOOK_SECRET", "WA_VERIFY_TOKEN")
    assert senders.discord().secrets == ("DISCORD_PUBLIC_KEY",)
    assert senders.paypal().secrets == ("PAYPAL_WEBHOOK_ID",)
    assert senders.sns().secrets == ("SNS_TOPIC_ARNS",)
    assert senders.sns(topic_arns=["arn"]).secrets == ()


def test_every_preset_stands_in_the_module_that_asked_for_it() -> None:
    for preset in senders.PRESETS:
        source = preset(f"{preset.__name__}-test")
        assert (source.name, source.module) == (f"{preset.__name__}-test", __name__)
        assert source.register
