"""The database's secret in Secrets Manager (moto's): functions whose password is rotated while they are warm."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from urllib.parse import quote

import boto3
import pytest
from tidemill.app import load
from tidemill.wire import Connection

from local.postgres import Postgres
from tests import logins
from tests.functions.intake.conftest import delivery
from tests.functions.intake.sources import SECRETS
from tests.logins import Login
from tests.queue.conftest import put


class Secret:
    """What the database's secret holds."""

    def __init__(self, login: Login) -> None:
        self._client = boto3.client("secretsmanager")
        info = login.admin.info
        self._fields = {"username": login.name, "host": quote(info.host, safe=""), "port": 5432, "dbname": info.dbname}
        self.arn = self._client.create_secret(Name=login.name, SecretString="{}")["ARN"]

    def publish(self, password: str) -> None:
        text = json.dumps({**self._fields, "password": password})
        self._client.put_secret_value(SecretId=self.arn, SecretString=text)

    def close(self) -> None:
        self._client.delete_secret(SecretId=self.arn, ForceDeleteWithoutRecovery=True)


@pytest.fixture
def login(postgres: Postgres, connection: Connection) -> Iterator[Login]:
    with logins.login(postgres, postgres.url(connection.info.dbname)) as one:
        yield one


@pytest.fixture
def secret(aws: str, login: Login, monkeypatch: pytest.MonkeyPatch) -> Iterator[Secret]:
    """It is what the environment names, and the only place that tells where the database is."""
    one = Secret(login)
    for name, value in {**SECRETS, "DATABASE_SECRET_ARN": one.arn, "AUTOMATIONS": "tests.functions.intake.sources"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    yield one
    one.close()


def test_a_warm_function_survives_the_rotation_of_its_password(
    login: Login, secret: Secret, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    """B78."""
    login.url("first-secret")
    secret.publish("first-secret")
    app = load(os.environ)
    assert app.intake.handle(delivery({"orders": [1]}), None)["statusCode"] == 202
    login.url("second-secret")
    login.end_connections()
    lagging = app.intake.handle(delivery({"orders": [2]}), None)
    assert (lagging["statusCode"], lagging["headers"]["Retry-After"]) == (503, "10")
    secret.publish("second-secret")
    assert app.intake.handle(delivery({"orders": [2]}), None)["statusCode"] == 202
    put(connection, 1, kind="limited")
    assert app.drain.handle(None, Context(120_000))["done"] == 1
    written = capsys.readouterr().out
    assert "password authentication failed" in written
    for password in ("first-secret", "second-secret"):
        assert password not in written and password not in app.settings.redact(f"it is {password}")


class Context:
    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    def get_remaining_time_in_millis(self) -> int:
        return self._milliseconds
