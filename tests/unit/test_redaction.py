"""A secret is found in every form that an encoding gives it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from requests import Request
from tidemill import redaction
from tidemill.settings import Settings

secrets = (
    st.text(min_size=redaction.SHORTEST, max_size=40).map(str.strip).filter(lambda text: len(text) >= redaction.SHORTEST)
)

FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "parameter": lambda text: quote(text, safe=""),
    "path": quote,
    "form": quote_plus,
    "hex": lambda text: text.encode().hex(),
    "json": json.dumps,
    "json in json": lambda text: json.dumps(json.dumps(text, ensure_ascii=False)),
    "repr": repr,
    "repr in json": lambda text: json.dumps(repr(text)),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
}


@pytest.mark.parametrize("form", FORMS)
@given(secret=secrets)
def test_a_secret_in_any_form_is_taken_out(form: str, secret: str) -> None:
    shown = Settings({"A_SECRET": secret.replace(",", ".")}).redact(f"<{FORMS[form](secret.replace(',', '.'))}>")
    assert "***" in shown
    assert len(shown) <= len("<''***''>") + 2 * form.count("json")


@given(secrets, st.binary(max_size=4), st.binary(max_size=4))
def test_a_secret_within_base64_is_taken_out_wherever_it_begins(secret: str, before: bytes, after: bytes) -> None:
    encoded = base64.b64encode(before + secret.encode() + after).decode()
    left = encoded
    for form in redaction.forms({secret}):
        left = left.replace(form, "***")
    assert "***" in left
    assert len(left.replace("***", "")) <= len(base64.b64encode(before + after)) + 4


def test_a_secret_in_an_address_that_requests_has_put_right_is_taken_out() -> None:
    secret = 'a b/c:d"é'
    prepared = Request("GET", f"https://api.example.org/bot{secret}/send", params={"key": secret}).prepare()
    shown = Settings({"A_TOKEN": secret}).redact(str(prepared.url))
    assert shown == "https://api.example.org/bot***/send?key=***"


def test_a_secret_that_is_not_utf_8_is_one_all_the_same() -> None:
    """An environment variable may hold any bytes."""
    secret = b"geheim-\xff\xfe".decode("utf-8", "surrogateescape")
    settings = Settings({"A_SECRET": secret})
    assert settings.redact(f"<{secret}> <{quote(secret.encode('utf-8', 'surrogateescape'))}>") == "<***> <***>"


def test_a_short_word_has_no_forms() -> None:
    assert redaction.forms({"short", ""}) == []


def test_a_setting_that_a_source_names_is_hidden_whatever_it_is_called() -> None:
    settings = Settings({"SHOP_SIGNING": "first-one, second-one", "SHOP_COLOUR": "vermilion"})
    assert settings.redact("first-one vermilion") == "first-one vermilion"
    settings.hide_settings(["SHOP_SIGNING", "NOT_SET"])
    assert settings.redact("first-one second-one vermilion") == "*** *** vermilion"
