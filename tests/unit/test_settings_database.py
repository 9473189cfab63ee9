"""Where the database is and who logs in: users, tokens, and secrets that are read anew."""

from __future__ import annotations

import json

import pytest
from tidemill.errors import ConfigurationError
from tidemill.settings import Settings, database_url_now, load

ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:tidemill"
SECRET = {"username": "owner", "password": "p@ss/word", "host": "db.test"}


def url(secret: dict[str, str], **environ: str) -> str:
    return load({"DATABASE_SECRET_ARN": ARN, **environ}, lambda arn: json.dumps(secret))["DATABASE_URL"]


def test_another_user_than_the_secrets_may_log_in() -> None:
    assert url(SECRET, DATABASE_USER="mill") == "postgresql://mill:p%40ss%2Fword@db.test:5432/postgres"


def test_who_logs_in_by_iam_needs_no_password() -> None:
    without = {name: value for name, value in SECRET.items() if name != "password"}
    for secret in (SECRET, without):
        assert url(secret, DATABASE_IAM="true") == "postgresql://owner@db.test:5432/postgres"
    with pytest.raises(ConfigurationError, match="must hold username, password and host"):
        url(without, DATABASE_IAM="false")


def test_a_flag_is_true_or_false() -> None:
    settings = Settings({"A": "true", "B": "False", "C": " ", "D": "1"})
    assert [settings.flag(name) for name in ("A", "B", "C", "none")] == [True, False, False, False]
    with pytest.raises(ConfigurationError, match="the setting D must be true or false, not '1'"):
        settings.flag("D")


def test_the_address_is_read_anew() -> None:
    """B78."""
    passwords = ["first", "second"]
    environ = {"DATABASE_SECRET_ARN": ARN}
    urls = [database_url_now(environ, lambda arn: json.dumps({**SECRET, "password": passwords.pop(0)})) for _ in range(2)]
    assert [one.partition("@")[0] for one in urls] == ["postgresql://owner:first", "postgresql://owner:second"]
    assert database_url_now({"DATABASE_URL": "postgresql://db/mill"}) == "postgresql://db/mill"


def test_a_password_that_replaced_another_is_hidden_too() -> None:
    settings = Settings({"DATABASE_URL": "postgresql://mill:first-word@db/mill"})
    settings.hide("postgresql://mill:second%2Fword@db/mill")
    assert settings.redact("first-word second/word second%2Fword") == "*** *** ***"
