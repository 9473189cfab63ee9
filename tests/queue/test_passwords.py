"""B78: passwords that are rotated while a function is warm, and tokens that live for one connect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tidemill.connector import Connector, connector
from tidemill.db import Database
from tidemill.errors import ConfigurationError
from tidemill.settings import Settings
from tidemill.wire import Connection

from tests.logins import Login

HOST = "db.example.com"


class Secret:
    """A secret that is read anew; `url` is what it holds."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.reads = 0

    def read(self) -> str:
        self.reads += 1
        return self.url


def test_a_password_that_was_rotated_is_read_again_once(login: Login) -> None:
    """B78."""
    old = login.url("first-secret")
    secret = Secret(old)
    database = Database(old, Connector(renew=secret.read))
    assert database.execute("health") == [(1,)]
    secret.url = login.url("second-secret")
    for _ in range(3):
        database.close()
        assert database.execute("health") == [(1,)]
    assert secret.reads == 1
    database.close()


def test_while_the_store_of_secrets_lags_nobody_is_locked_out(login: Login) -> None:
    """B78: the password that was refused is not tried again at once; the next connect finds the new one."""
    old = login.url("first-secret")
    secret = Secret(old)
    tried: list[str] = []

    class Counting(Connector):
        def _connect(self, url: str) -> Connection:
            tried.append(url)
            return super()._connect(url)

    connects = Counting(renew=secret.read)
    new = login.url("second-secret")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed") as raised:
        connects(old)
    assert (tried, secret.reads) == ([old], 1)
    assert "first-secret" not in str(raised.value) and "second-secret" not in str(raised.value)
    secret.url = new
    connects(old).close()
    assert tried == [old, old, new]
    connects(old).close()
    assert tried[-1] == new and secret.reads == 2


def test_a_secret_that_cannot_be_read_leaves_the_first_error(login: Login) -> None:
    """B78."""
    old = login.url("first-secret")
    login.url("second-secret")

    def fail() -> str:
        raise ConnectionError("no way to the secret first-secret")

    with pytest.raises(psycopg.OperationalError, match="password authentication failed") as raised:
        Connector(renew=fail)(old)
    assert raised.value.__notes__ == ["and the secret could not be read again: ConnectionError"]


def test_a_server_that_is_away_is_no_reason_to_read_the_secret() -> None:
    secret = Secret("")
    with pytest.raises(psycopg.OperationalError):
        Connector(renew=secret.read)("postgresql://127.0.0.1:1/none")
    assert secret.reads == 0


def test_each_connect_has_a_token_of_its_own(login: Login) -> None:
    """B78: a token lives for 15 minutes, and is looked at when the connection is made."""
    url = login.url("token-1")
    users: list[Any] = []

    def token(parameters: Mapping[str, Any]) -> str:
        users.append(parameters["user"])
        return f"token-{len(users)}"

    database = Database(make_conninfo(url, password="expired"), Connector(password=token))
    assert database.execute("health") == [(1,)]
    login.url("token-2")
    assert database.execute("health") == [(1,)]
    database.close()
    assert database.execute("health") == [(1,)]
    assert users == [login.name] * 2
    database.close()


def test_a_token_is_made_for_the_address_where_iam_is_asked_for() -> None:
    environ = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "s3cr3t", "AWS_REGION": "eu-south-1"}
    made = connector(Settings({"DATABASE_IAM": "true"}), environ)._password
    assert made is not None
    token = made({"host": HOST, "user": "tide"})
    assert token.startswith(f"{HOST}:5432/?Action=connect&DBUser=tide&") and "%2Feu-south-1%2Frds-db%2F" in token
    assert connector(Settings({"DATABASE_IAM": "false"}), environ)._password is None
    with pytest.raises(ConfigurationError, match="DATABASE_IAM must be true or false, not 'yes'"):
        connector(Settings({"DATABASE_IAM": "yes"}), environ)
