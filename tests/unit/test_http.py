from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import requests
from tidemill import http, telemetry
from tidemill.errors import PermanentError, RateLimited, RequestFailed

from tests.unit.answers import Answers, response


def open_session(answers: Answers, **options: Any) -> requests.Session:
    return answers.on(http.session(**options))


@pytest.mark.parametrize("given", [{}, {"timeout": None}, {"timeout": (None, None)}, {"timeout": 0}])
def test_a_request_without_a_timeout_gets_the_sessions(given: dict[str, Any]) -> None:
    answers = Answers()
    open_session(answers).get("http://shop.test/", **given)
    assert answers.timeouts == [(5.0, 20.0)]


@pytest.mark.parametrize(
    ("given", "used"), [(2, (2, 2)), (60, (60, 60)), ((1, 2), (1, 2)), ((None, 90), (5.0, 90)), ((1, None), (1, 20.0))]
)
def test_a_request_may_choose_its_own_timeout(given: Any, used: Any) -> None:
    answers = Answers()
    open_session(answers).post("http://shop.test/", timeout=given)
    assert answers.timeouts == [used]


def test_a_session_may_have_another_timeout() -> None:
    answers = Answers()
    open_session(answers, timeout=(1, 2)).get("http://shop.test/")
    assert answers.timeouts == [(1, 2)]


def test_a_prepared_request_has_a_timeout_too() -> None:
    answers = Answers()
    open_session(answers).send(requests.Request("GET", "http://shop.test/").prepare())
    assert answers.timeouts == [(5.0, 20.0)]
    assert "X-Correlation-Id" not in answers.requests[0].headers


def test_a_redirected_request_keeps_its_timeout() -> None:
    answers = Answers((302, "", {"Location": "http://shop.test/there"}))
    open_session(answers).get("http://shop.test/", timeout=3)
    assert answers.timeouts == [(3, 3), (3, 3)]


def test_every_request_carries_the_correlation_id_of_its_session() -> None:
    answers = Answers((302, "", {"Location": "http://other.test/"}))
    open_session(answers, correlation_id="order-7").get("http://shop.test/")
    assert [request.headers["X-Correlation-Id"] for request in answers.requests] == ["order-7", "order-7"]


def test_a_session_without_a_correlation_id_sends_that_of_what_is_running() -> None:
    answers = Answers()
    session = open_session(answers)
    with telemetry.correlated("order-8"):
        session.get("http://shop.test/")
    session.get("http://shop.test/")
    assert [request.headers.get("X-Correlation-Id") for request in answers.requests] == ["order-8", None]


def test_a_correlation_id_of_ones_own_is_kept() -> None:
    answers = Answers()
    open_session(answers, correlation_id="ours").get("http://shop.test/", headers={"X-Correlation-Id": "theirs"})
    assert answers.requests[0].headers["X-Correlation-Id"] == "theirs"


@pytest.mark.parametrize("unsafe", ["", "a\r\nX-Admin: 1", "é", "a b", "x" * 129])
def test_a_correlation_id_that_no_header_can_hold_is_not_sent(unsafe: str) -> None:
    answers = Answers()
    open_session(answers, correlation_id=unsafe).get("http://shop.test/")
    assert "X-Correlation-Id" not in answers.requests[0].headers


def test_a_redirect_to_another_host_takes_no_key_along() -> None:
    answers = Answers((307, "", {"Location": "http://elsewhere.test/"}))
    keys = {"Authorization": "Bearer k-1", "X-Api-Key": "k-2", "Accept": "text/plain"}
    open_session(answers, correlation_id="c").get("http://shop.test/", headers=keys)
    first, second = (request.headers for request in answers.requests)
    assert (first["X-Api-Key"], first["Authorization"]) == ("k-2", "Bearer k-1")
    assert "k-1" not in str(second) and "k-2" not in str(second)
    assert (second["Accept"], second["X-Correlation-Id"]) == ("text/plain", "c")


def test_a_redirect_on_the_same_host_keeps_the_keys() -> None:
    answers = Answers((307, "", {"Location": "/there"}))
    open_session(answers).get("http://shop.test/", headers={"X-Api-Key": "k-2"})
    assert answers.requests[1].headers["X-Api-Key"] == "k-2"


def test_requests_is_not_imported_before_it_is_used() -> None:
    code = "import sys, tidemill.http, tidemill.telegram, tidemill.alerts; sys.exit('requests' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0


@pytest.mark.parametrize("status", [200, 201, 202, 204, 206])
def test_check_hands_a_success_back(status: int) -> None:
    answer = response(status)
    assert http.check(answer, "the shop") is answer


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 409, 410, 413, 422, 451])
def test_check_makes_a_refusal_permanent(status: int) -> None:
    """B54"""
    with pytest.raises(PermanentError, match=f"the shop: status {status}"):
        http.check(response(status), "the shop")


@pytest.mark.parametrize("status", [301, 302, 304, 408, 425, 500, 501, 502, 503, 504, 599])
def test_check_lets_the_rest_be_tried_again(status: int) -> None:
    """B54"""
    with pytest.raises(RequestFailed, match=f"the shop: status {status}"):
        http.check(response(status), "the shop")


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(("header", "seconds"), [("37", 37.0), ("0.129", 0.129), ("Thu, 01 Jan 1970 00:01:40 GMT", 70.0)])
def test_check_passes_the_pause_on_that_the_other_side_asks_for(status: int, header: str, seconds: float) -> None:
    """B51"""
    with pytest.raises(RateLimited) as raised:
        http.check(response(status, "", {"Retry-After": header}), "the shop", clock=lambda: 30.0)
    assert raised.value.retry_after == seconds


@pytest.mark.parametrize("header", [None, "", "soon", "-5", "nan", "1_0", "\uff11\uff12"])
def test_a_429_is_a_pause_whatever_it_says_about_its_length(header: str | None) -> None:
    """B51"""
    with pytest.raises(RateLimited) as raised:
        http.check(response(429, "", {} if header is None else {"Retry-After": header}), "the shop")
    assert raised.value.retry_after is None


@pytest.mark.parametrize("header", ["soon", "0", "-5"])
def test_a_503_that_names_no_time_is_a_failure_like_another(header: str) -> None:
    """B51"""
    with pytest.raises(RequestFailed):
        http.check(response(503, "", {"Retry-After": header}), "the shop")


@pytest.mark.parametrize("headers", [{"retry-after": "9"}, {"RETRY-AFTER": "9"}])
def test_the_case_of_retry_after_makes_no_difference(headers: dict[str, str]) -> None:
    with pytest.raises(RateLimited) as raised:
        http.check(response(429, "", headers), "the shop")
    assert raised.value.retry_after == 9


def test_the_text_of_an_answer_decides_nothing() -> None:
    """B54"""
    with pytest.raises(RequestFailed, match=r"status 503: upstream said \(404: gone\)"):
        http.check(response(503, "upstream said (404: gone)"), "the shop")


def test_an_error_shows_the_start_of_the_body_and_not_the_address() -> None:
    answers = Answers((404, "no such\n\n   order\x00 " + "x" * 5000))
    answer = open_session(answers).get("http://shop.test/orders?key=hush-hush")
    with pytest.raises(PermanentError) as raised:
        http.check(answer, "the shop")
    text = str(raised.value)
    assert text.startswith("the shop: status 404: no such order\ufffd xxx")
    assert len(text) < 400
    assert "hush" not in text


def test_a_body_that_cannot_be_read_hides_no_status() -> None:
    answer = response(404, "gone")
    answer._content = False  # a stream that was read already
    with pytest.raises(PermanentError, match=r"the shop: status 404$"):
        http.check(answer, "the shop")


def test_a_body_in_no_known_encoding_is_shown_as_far_as_it_goes() -> None:
    with pytest.raises(RequestFailed, match="status 500: caf\ufffd"):
        http.check(response(500, b"caf\xe9"), "the shop")
