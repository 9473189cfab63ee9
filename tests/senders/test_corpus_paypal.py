"""PayPal: what its key has signed for our webhook, with a certificate from its own host."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tidemill import Accepted, Refused, Request

from tests.senders.corpus import NOW, another, same_bytes
from tests.senders.corpus_certificates import OTHER_KEY, PAYPAL_URL, WEBHOOK_ID, Host, certificate, paypal, paypal_request

BODY = b'{"id":"WH-2WR32451HC0233532-67976317FL4543714","event_type":"PAYMENT.SALE.COMPLETED"}'
SETTINGS = {"W": WEBHOOK_ID}


def verdict(sent: Request, host: Host | None = None, settings: dict[str, str] = SETTINGS) -> object:
    return paypal(host or Host()).check(sent, settings, NOW)


def with_header(sent: Request, header: str, *values: str) -> Request:
    rest = [(name, value) for name, value in sent.headers if name != header]
    return replace(sent, headers=[*rest, *((header, value) for value in values)])


@pytest.mark.parametrize("body", [BODY, '{"id":"WH-1","text":"Grüße 🌍"}'.encode(), b"\xff\xfe", b"", b"no json"])
def test_what_paypal_has_signed_is_genuine(body: bytes) -> None:
    assert isinstance(verdict(paypal_request(body)), Accepted)


def test_the_id_of_the_event_is_the_key() -> None:
    assert verdict(paypal_request(BODY)) == Accepted("WH-2WR32451HC0233532-67976317FL4543714")


@pytest.mark.parametrize("url", [PAYPAL_URL, PAYPAL_URL.replace("api.", "api.sandbox.")])
def test_a_certificate_of_paypal_is_fetched_once(url: str) -> None:
    host = Host()
    source = paypal(host)
    for number in range(5):
        assert isinstance(source.check(paypal_request(b"%d" % number, url=url), SETTINGS, NOW + number), Accepted)
    assert host.asked == [url]


@pytest.mark.parametrize("body", [BODY + b" ", BODY[:-1], b"", BODY.replace(b"SALE", b"SAIL"), b"\xef\xbb\xbf" + BODY])
def test_another_body_is_refused(body: bytes) -> None:
    assert isinstance(verdict(replace(paypal_request(BODY), body=body)), Refused)


@pytest.mark.parametrize(
    "header",
    ["PAYPAL-TRANSMISSION-ID", "PAYPAL-TRANSMISSION-TIME", "PAYPAL-TRANSMISSION-SIG", "PAYPAL-CERT-URL", "PAYPAL-AUTH-ALGO"],
)
def test_each_header_is_needed_and_single_and_its_case_is_free(header: str) -> None:
    sent = paypal_request(BODY)
    value = dict(sent.headers)[header]
    bad = "https://evil.test/CERT-1" if header == "PAYPAL-CERT-URL" else another(value, len(value) - 4)
    for values in ((), ("",), (bad,), (value, bad), (bad, value), (f"{value},{bad}",), ("é" + value,)):
        assert isinstance(verdict(with_header(sent, header, *values)), Refused)
    for change in (str.lower, str.title):
        renamed = [(change(name), given) for name, given in sent.headers]
        assert isinstance(verdict(replace(sent, headers=renamed)), Accepted)


@pytest.mark.parametrize(
    "sent",
    [
        paypal_request(BODY, OTHER_KEY),
        paypal_request(BODY, webhook_id="5GP028458E249650"),
        paypal_request(BODY, webhook_id=""),
    ],
    ids=["another key", "another webhook", "no webhook"],
)
def test_a_delivery_for_somebody_else_is_refused(sent: Request) -> None:
    assert isinstance(verdict(sent), Refused)


@pytest.mark.parametrize("settings", [{}, {"W": ""}, {"W": " \n"}])
def test_without_the_id_of_the_webhook_nothing_is_genuine(settings: dict[str, str]) -> None:
    """B14."""
    for webhook_id in ("", " ", WEBHOOK_ID):
        assert isinstance(verdict(paypal_request(BODY, webhook_id=webhook_id), settings=settings), Refused)


@pytest.mark.parametrize("algorithm", ["SHA1withRSA", "none", "sha256", "SHA256withECDSA"])
def test_another_algorithm_is_refused(algorithm: str) -> None:
    assert isinstance(verdict(paypal_request(BODY, algorithm=algorithm)), Refused)


def test_a_signature_in_another_spelling_is_refused() -> None:
    sent = paypal_request(BODY)
    sig = dict(sent.headers)["PAYPAL-TRANSMISSION-SIG"]
    for bad in (same_bytes(sig), sig.rstrip("="), sig[:-4], sig + "AAAA", sig[:8] + "!" + sig[8:], sig.swapcase()):
        assert isinstance(verdict(with_header(sent, "PAYPAL-TRANSMISSION-SIG", bad)), Refused)


@pytest.mark.parametrize(
    "url",
    [
        PAYPAL_URL.replace("https", "http"),
        "https://api.paypal.com.evil.test/v1/notifications/certs/CERT-1",
        "https://evil.test/api.paypal.com/v1/notifications/certs/CERT-1",
        "https://api.paypal.com@evil.test/v1/notifications/certs/CERT-1",
        "https://evil-api.paypal.com.test/CERT-1",
        "https://apixpaypal.com/v1/notifications/certs/CERT-1",
        "https://evil.test?https://api.paypal.com/v1/notifications/certs/CERT-1",
        "https://evil.test\\.api.paypal.com/v1/notifications/certs/CERT-1",
        "https://api.paypal.com:8443/v1/notifications/certs/CERT-1",
        "https://www.paypal.com/redirect?to=https://evil.test/CERT-1",
        "https://api.paypal.com/v1/notifications/certs/CERT-1?x=1",
        "file:///v1/notifications/certs/CERT-1",
        "//api.paypal.com/v1/notifications/certs/CERT-1",
    ],
)
def test_a_certificate_from_anywhere_else_is_not_fetched(url: str) -> None:
    host = Host()
    assert isinstance(verdict(paypal_request(BODY, url=url), host), Refused)
    assert host.asked == []


@pytest.mark.parametrize(
    "answer",
    [OSError("no route"), TimeoutError(), b"", b"<html>", certificate(OTHER_KEY)],
    ids=["no route", "timeout", "empty", "HTML", "another key"],
)
def test_without_the_right_certificate_nothing_is_genuine(answer: bytes | Exception) -> None:
    assert isinstance(verdict(paypal_request(BODY), Host(answer)), Refused)
