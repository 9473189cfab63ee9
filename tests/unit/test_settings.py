from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemill.errors import ConfigurationError
from tidemill.settings import Settings, load, secrets_in

ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:tidemill"


def test_settings_are_a_mapping_of_strings_without_the_space_around_them() -> None:
    settings = Settings({"A": " one\n", "B": ""})
    assert dict(settings) == {"A": "one", "B": ""}
    assert (len(settings), settings.get("C", "none"), "A" in settings, "C" in settings) == (2, "none", True, False)


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(KeyError, match="the setting SHOP_API is missing"):
        Settings({})["SHOP_API"]


def test_all_missing_settings_are_named_at_once() -> None:
    with pytest.raises(ConfigurationError, match=r"^missing settings: B, C$"):
        Settings({"A": "1", "B": "  "}).require("A", "B", "C")


def test_settings_that_are_there_are_enough() -> None:
    Settings({"A": "1"}).require("A")


def test_no_value_shows_when_settings_are_printed() -> None:
    settings = Settings({"SHOP_TOKEN": "hush-hush", "PLAIN": "value"})
    assert repr(settings) == str(settings) == f"{settings}" == "Settings(2 names)"


@pytest.mark.parametrize(("text", "number"), [("", 7), (" 12 ", 12), ("0", 0), ("0.5", 0.5), ("1e3", 1000)])
def test_a_number(text: str, number: float) -> None:
    assert Settings({"LEASE_SECONDS": text}).number("LEASE_SECONDS", 7) == number


def test_a_number_that_is_not_set_is_the_default() -> None:
    assert Settings({}).number("LEASE_SECONDS", 7) == 7


@pytest.mark.parametrize("text", ["ten", "-1", "nan", "inf", "-inf", "1,5", "1 2"])
def test_what_is_no_number_is_refused_by_name(text: str) -> None:
    with pytest.raises(ConfigurationError, match="the setting LEASE_SECONDS must be a number"):
        Settings({"LEASE_SECONDS": text}).number("LEASE_SECONDS", 7)


@pytest.mark.parametrize(
    "name",
    ["SITE_WEBHOOK_SECRET", "TELEGRAM_BOT_TOKEN", "DB_PASSWORD", "DB_PASSWD", "MAIL_API_KEY", "PRIVATE", "AWS_CREDENTIALS",
     "SIGNING_KEY"],
)  # fmt: skip
def test_secrets_are_known_by_their_names(name: str) -> None:
    assert Settings({name: "hush-hush"}).redact("it says hush-hush twice: hush-hush") == "it says *** twice: ***"


@pytest.mark.parametrize(
    "name", ["SETTINGS_SECRET_ARN", "TOKEN_URL", "AWS_ACCESS_KEY_ID", "SECRET_NAME", "MAIL_API", "AUTOMATIONS"]
)
def test_other_settings_are_no_secrets(name: str) -> None:
    assert Settings({name: "automations"}).redact("automations") == "automations"


@pytest.mark.parametrize(
    "written",
    [
        str,
        lambda text: quote(text, safe=""),
        lambda text: base64.b64encode(text.encode()).decode(),
        lambda text: json.dumps(text)[1:-1],
    ],
)
def test_a_secret_is_found_however_it_is_written(written: object) -> None:
    """B85"""
    secret = 'a/b:c "d" é\\'
    shown = Settings({"SHOP_SECRET": secret}).redact(f"<{written(secret)}>")  # type: ignore[operator]
    assert shown == "<***>"


def test_each_of_several_secrets_is_found() -> None:
    settings = Settings({"SHOP_SECRET": "first-one, second-one ,,"})
    assert settings.redact("first-one second-one first-one, second-one") == "*** *** ***, ***"


def test_a_secret_inside_a_longer_one_leaves_nothing_of_it() -> None:
    assert Settings({"A_SECRET": "abcdef", "B_SECRET": "abcdefghi"}).redact("abcdefghi abcdef") == "*** ***"


def test_a_short_word_is_no_secret() -> None:
    assert Settings({"A_SECRET": "dev"}).redact("development") == "development"


@pytest.mark.parametrize(
    "value",
    [
        "postgresql://mill:hush%2Fhush@db/mill",
        "postgresql://db/mill?user=mill&password=hush%2Fhush&sslmode=require",
        "host=db user=mill password=hush/hush dbname=mill",
        "host=db password = 'hush/hush' dbname=mill",
    ],
)
def test_a_password_in_an_address_is_a_secret(value: str) -> None:
    """B56"""
    settings = Settings({"DATABASE_URL": value})
    assert "hush" not in settings.redact(f"cannot connect to {value}: hush/hush, hush%2Fhush")
    assert "cannot connect" in settings.redact(f"cannot connect to {value}")


@pytest.mark.parametrize("value", ["postgresql://[half:hush-hush@db/x", "http://[::1", "://", "password=", "password=''"])
def test_an_address_that_cannot_be_read_hinders_nothing(value: str) -> None:
    assert Settings({"SOME_URL": value})["SOME_URL"] == value


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=6), st.text(), st.text())
def test_no_secret_is_left_in_a_text(secret: str, before: str, after: str) -> None:
    settings = Settings({"SHOP_SECRET": secret})
    secret = settings["SHOP_SECRET"]
    shown = settings.redact(before + secret + after)
    assert len(secret) < 6 or all(secret not in piece for piece in shown.split("***"))


def test_the_environment_is_enough() -> None:
    assert dict(load({"DATABASE_URL": "postgresql://db/mill"})) == {"DATABASE_URL": "postgresql://db/mill"}


def test_the_secret_fills_in_what_the_environment_does_not_say() -> None:
    secret = json.dumps({"A": "secret", "B": "secret", "C": "secret"})
    environ = {"SETTINGS_SECRET_ARN": ARN, "B": "environ", "C": " "}
    asked: list[str] = []
    settings = load(environ, lambda arn: asked.append(arn) or secret)  # type: ignore[func-returns-value]
    assert (settings["A"], settings["B"], settings["C"]) == ("secret", "environ", "secret")
    assert asked == [ARN]


def test_what_in_the_secret_is_no_text_is_its_json_and_null_is_missing() -> None:
    secret = json.dumps({"LEASE_SECONDS": 60, "OUTBOX_TARGETS": {"jobs": "https://queue"}, "FLAG": True, "GONE": None})
    settings = load({"SETTINGS_SECRET_ARN": ARN}, lambda arn: secret)
    assert (settings["LEASE_SECONDS"], settings["OUTBOX_TARGETS"], settings["FLAG"]) == (
        "60",
        '{"jobs":"https://queue"}',
        "true",
    )
    assert "GONE" not in settings


@pytest.mark.parametrize("secret", ["", "hush-hush", "[]", '"text"', "null", "{"])
@pytest.mark.parametrize("name", ["SETTINGS_SECRET_ARN", "DATABASE_SECRET_ARN"])
def test_a_secret_that_is_no_object_is_refused_without_being_shown(name: str, secret: str) -> None:
    with pytest.raises(ConfigurationError, match="must hold a JSON object") as raised:
        load({name: ARN}, lambda arn: secret)
    assert "hush" not in str(raised.value)


def test_the_database_secret_makes_the_address() -> None:
    secret = {"username": "mill", "password": "p@ss/word", "host": "db.test", "port": 6543, "dbname": "tide"}
    settings = load({"DATABASE_SECRET_ARN": ARN}, lambda arn: json.dumps(secret))
    assert settings["DATABASE_URL"] == "postgresql://mill:p%40ss%2Fword@db.test:6543/tide"
    assert settings.redact("p@ss/word p%40ss%2Fword") == "*** ***"


def test_host_and_name_of_the_database_may_come_from_elsewhere() -> None:
    environ = {"DATABASE_SECRET_ARN": ARN, "DATABASE_HOST": "proxy.test", "DATABASE_NAME": "tide"}
    secret = {"username": "mill", "password": "secret-word", "host": "db.test"}
    settings = load(environ, lambda arn: json.dumps(secret))
    assert settings["DATABASE_URL"] == "postgresql://mill:secret-word@proxy.test:5432/tide"


def test_an_address_that_is_given_is_not_asked_for() -> None:
    def fetch(arn: str) -> str:
        raise AssertionError(f"{arn} was asked for")

    settings = load({"DATABASE_SECRET_ARN": ARN, "DATABASE_URL": "postgresql://db/mill"}, fetch)
    assert settings["DATABASE_URL"] == "postgresql://db/mill"


@pytest.mark.parametrize("missing", ["username", "password", "host"])
def test_a_database_secret_without_a_part_is_refused(missing: str) -> None:
    secret = {"username": "mill", "password": "secret-word", "host": "db.test"}
    del secret[missing]
    with pytest.raises(ConfigurationError, match="must hold username, password and host"):
        load({"DATABASE_SECRET_ARN": ARN}, lambda arn: json.dumps(secret))


@pytest.mark.parametrize(
    ("value", "secrets"),
    [("", []), (" , ,", []), ("one", ["one"]), (" one , two,three,", ["one", "two", "three"]), ("a b", ["a b"])],
)
def test_several_secrets_in_one_setting(value: str, secrets: list[str]) -> None:
    assert secrets_in(value) == secrets


def test_an_address_that_cannot_be_read_is_a_secret_as_a_whole() -> None:
    """libpq repeats it in its error."""
    settings = Settings({"DATABASE_URL": "postgresql://user:hunter22@[::1/x"})
    assert settings.redact("invalid: postgresql://user:hunter22@[::1/x") == "invalid: ***"
