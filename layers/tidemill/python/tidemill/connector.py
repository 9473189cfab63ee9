"""How a function connects: with a password that may be rotated, or with a token that is good for one connect."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psycopg

from tidemill import aws, db
from tidemill.errors import ConfigurationError
from tidemill.settings import Settings
from tidemill.wire import Connection

# What a server, or RDS Proxy, says of a wrong password; of an error in connecting libpq tells no code.
_refused = ("password authentication failed", "has no credentials for the role")

Renew = Callable[[], str]


class Connector:
    """`connector(url)` makes a connection, as db.connect does. `renew` reads the address anew where its password was
    refused; `password` makes one for each connect, from the parameters of the address; `patience` is in seconds."""

    def __init__(
        self,
        ca_file: str | None = None,
        renew: Renew | None = None,
        password: Callable[[Mapping[str, Any]], str] | None = None,
        patience: float | None = None,
    ) -> None:
        self._ca_file = ca_file
        self._renew = renew
        self._password = password
        self._patience = patience
        self._renewed: dict[str, str] = {}

    def __call__(self, url: str) -> Connection:
        """Raises psycopg.OperationalError. A password is tried once, and once more where the secret holds another by now: a
        refused one that is tried again and again would lock the user out."""
        known = self._renewed.get(url, url)
        try:
            return self._connect(known)
        except psycopg.OperationalError as error:
            if self._renew is None or not any(text in str(error) for text in _refused):
                raise
            refusal = error
        fresh = _read(self._renew, refusal)
        if fresh == known:
            raise refusal
        connection = self._connect(fresh)
        self._renewed[url] = fresh
        return connection

    def _connect(self, url: str) -> Connection:
        return db.connect(url, ca_file=self._ca_file, password=self._password, patience=self._patience)


def connector(
    settings: Settings, environ: Mapping[str, str], renew: Renew | None = None, patience: float | None = None
) -> Connector:
    """A connector by the settings DATABASE_CA_FILE and DATABASE_IAM; `environ` has the credentials. Raises
    ConfigurationError that names the setting."""
    ca_file = settings.get("DATABASE_CA_FILE")
    if ca_file and not Path(ca_file).is_file():
        raise ConfigurationError(f"DATABASE_CA_FILE must name a file with certificates, and {ca_file[:200]!r} is none")

    def token(address: Mapping[str, Any]) -> str:
        host, port, user = (str(address.get(name) or "") for name in ("host", "port", "user"))
        return aws.database_token(host, port or "5432", user, environ.get("AWS_REGION", ""), environ, time.time())

    return Connector(ca_file, renew, token if settings.flag("DATABASE_IAM") else None, patience)


def _read(renew: Renew, refusal: psycopg.OperationalError) -> str:
    try:
        return renew()
    except Exception as error:
        refusal.add_note(f"and the secret could not be read again: {type(error).__name__}")
        raise refusal from None
