"""PayPal, and how a certificate is got: from the right host, once an hour, and not at all where anything is odd."""

from __future__ import annotations

import base64
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding
from tidemill import Accepted, Refused, Request, Source, senders
from tidemill.verify import certificates

from tests.senders.certifying import NOW, OTHER_RSA, PEM, RSA, Fetching, certificate
from tests.serving import serving

PAYPAL_CERTIFICATE = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-1d93a270"


def fetching() -> Fetching:
    return Fetching({PAYPAL_CERTIFICATE: PEM})


def paypal_request(body: bytes = b'{"id":"WH-1"}', **changed: str) -> Request:
    text = f"t-1|2027-01-15T08:00:00Z|WEBHOOK7|{zlib.crc32(body)}"
    headers = {
        "PAYPAL-TRANSMISSION-ID": "t-1",
        "PAYPAL-TRANSMISSION-TIME": "2027-01-15T08:00:00Z",
        "PAYPAL-TRANSMISSION-SIG": base64.b64encode(RSA.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())).decode(),
        "PAYPAL-CERT-URL": PAYPAL_CERTIFICATE,
        "PAYPAL-AUTH-ALGO": "SHA256withRSA",
    } | {f"PAYPAL-{name}": value for name, value in changed.items()}
    return Request("POST", "https://x.test", list(headers.items()), body)


def paypal(fetch: Callable[[str], bytes]) -> Source:
    return senders.paypal("x", webhook_id="W", fetch=fetch)


def test_paypal_is_genuine_for_our_webhook_alone() -> None:
    source = paypal(fetching())
    assert source.check(paypal_request(), {"W": "WEBHOOK7"}, NOW) == Accepted("WH-1")
    assert source.check(paypal_request(), {"W": "WEBHOOK8"}, NOW) == Refused("the signature does not match")
    assert source.check(paypal_request(), {}, NOW) == Refused("the setting W is missing")


@pytest.mark.parametrize("name", ["TRANSMISSION-ID", "TRANSMISSION-TIME", "TRANSMISSION-SIG", "CERT-URL", "AUTH-ALGO"])
@pytest.mark.parametrize("value", [",", "x", "é", "MD5withRSA"])
def test_nothing_of_what_paypal_says_can_be_another(name: str, value: str) -> None:
    verdict = paypal(fetching()).check(paypal_request(**{name: value}), {"W": "WEBHOOK7"}, NOW)
    assert isinstance(verdict, Refused)
    assert "raised" not in verdict.reason


@pytest.mark.parametrize("name", ["TRANSMISSION-ID", "TRANSMISSION-TIME", "TRANSMISSION-SIG", "CERT-URL", "AUTH-ALGO"])
def test_nothing_of_what_paypal_needs_to_say_can_be_missing(name: str) -> None:
    verdict = paypal(fetching()).check(paypal_request(**{name: ""}), {"W": "WEBHOOK7"}, NOW)
    assert verdict == Refused(f"there is no PAYPAL-{name} header")


def test_another_body_of_paypal_is_refused_and_an_old_one_where_told_so() -> None:
    source = paypal(fetching())
    assert isinstance(source.check(replace(paypal_request(), body=b"{}"), {"W": "WEBHOOK7"}, NOW), Refused)
    strict = senders.paypal("x", webhook_id="W", fetch=fetching(), tolerance=300)
    assert isinstance(strict.check(paypal_request(), {"W": "WEBHOOK7"}, NOW + 301), Refused)


ODD_ADDRESSES = [
    PAYPAL_CERTIFICATE.replace("https", "http"),
    PAYPAL_CERTIFICATE.replace("api.paypal.com", "api.paypal.com.example.test"),
    PAYPAL_CERTIFICATE.replace("api.paypal.com", "example.test"),
    PAYPAL_CERTIFICATE.replace("api.paypal.com", "api.paypal.com@example.test"),
    PAYPAL_CERTIFICATE.replace("api.paypal.com", "api.paypal.com:444"),
    PAYPAL_CERTIFICATE.replace("api.paypal.com", "apixpaypal.com"),
    f"https://example.test/{PAYPAL_CERTIFICATE}",
    f"{PAYPAL_CERTIFICATE}?x=1",
    f"{PAYPAL_CERTIFICATE}\n",
    "",
]


@pytest.mark.parametrize("url", ODD_ADDRESSES)
def test_a_certificate_is_fetched_from_the_senders_own_host_alone(url: str) -> None:
    fetch = Fetching({url: certificate(RSA)})
    assert isinstance(paypal(fetch).check(paypal_request(**{"CERT-URL": url}), {"W": "WEBHOOK7"}, NOW), Refused)
    assert [asked for asked in fetch.asked if asked != PAYPAL_CERTIFICATE] == []


def test_a_certificate_is_fetched_once_an_hour() -> None:
    fetch = fetching()
    source = paypal(fetch)
    for now in (NOW, NOW + 1, NOW + certificates.KEPT_SECONDS - 1):
        assert isinstance(source.check(paypal_request(), {"W": "WEBHOOK7"}, now), Accepted)
    assert fetch.asked == [PAYPAL_CERTIFICATE]
    source.check(paypal_request(), {"W": "WEBHOOK7"}, NOW + certificates.KEPT_SECONDS)
    assert len(fetch.asked) == 2


@pytest.mark.parametrize("answer", [b"", b"junk", certificate(ec.generate_private_key(ec.SECP256R1())), PEM * 200])
def test_what_is_no_certificate_for_rsa_refuses(answer: bytes) -> None:
    verdict = paypal(lambda url: answer).check(paypal_request(), {"W": "WEBHOOK7"}, NOW)
    assert verdict == Refused("the certificate could not be fetched: ValueError")


def test_another_certificate_refuses() -> None:
    verdict = paypal(lambda url: certificate(OTHER_RSA)).check(paypal_request(), {"W": "WEBHOOK7"}, NOW)
    assert verdict == Refused("the signature does not match")


def test_addresses_that_do_not_answer_are_not_asked_again_and_again() -> None:
    """Each costs a request of ours: nobody may have us make as many as he likes."""
    fetch = Fetching({})
    source = paypal(fetch)
    for number in range(50):
        request = paypal_request(**{"CERT-URL": f"{PAYPAL_CERTIFICATE}{number}"})
        assert isinstance(source.check(request, {"W": "WEBHOOK7"}, NOW), Refused)
    assert len(fetch.asked) == certificates.MOST_FAILURES
    fetch.known[PAYPAL_CERTIFICATE] = PEM
    later = NOW + certificates.FAILURES_SECONDS
    assert isinstance(source.check(paypal_request(), {"W": "WEBHOOK7"}, later), Accepted)


def test_only_so_many_certificates_are_kept() -> None:
    fetch = Fetching({f"{PAYPAL_CERTIFICATE}{number}": PEM for number in range(certificates.MOST_KEPT + 1)})
    source = paypal(fetch)
    for url in [*fetch.known, f"{PAYPAL_CERTIFICATE}0"]:
        assert isinstance(source.check(paypal_request(**{"CERT-URL": url}), {"W": "WEBHOOK7"}, NOW), Accepted)
    assert len(fetch.asked) == certificates.MOST_KEPT + 2


class Host(BaseHTTPRequestHandler):
    """Answers by the path that it is asked for."""

    asked: list[str] = []  # noqa: RUF012 (of the server, which is one)

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response({"/moved": 302, "/missing": 404}.get(self.path, 200))
        self.send_header("Location", "/certificate")
        self.end_headers()
        try:
            if self.path == "/slow":
                for _ in range(100):
                    self.wfile.write(b"a")
                    time.sleep(0.02)
            self.wfile.write(b"a" * (1_000_000 if self.path == "/large" else 10))
        except OSError:
            return  # who asked has gone

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def host() -> Iterator[str]:
    Host.asked.clear()
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Host)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


def test_a_certificate_is_read_whole(host: str) -> None:
    assert certificates.fetched(f"{host}/certificate") == b"a" * 10


@pytest.mark.parametrize("path", ["/large", "/slow", "/moved", "/missing"])
def test_what_is_too_large_too_slow_moved_or_missing_is_no_certificate(host: str, path: str) -> None:
    with pytest.raises(OSError):
        certificates.fetched(host + path, seconds=0.2)
    assert Host.asked == [path]
