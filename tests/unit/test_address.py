"""The database's address: what cannot be read as it was meant is refused, without a word of it."""

from __future__ import annotations

import pytest
from tidemill import address
from tidemill.app import App
from tidemill.errors import ConfigurationError
from tidemill.settings import Settings

UNREADABLE = [
    "hush",
    "postgresql://tide:pw@hush@127.0.0.1/mill",
    "postgresql://tide:pw/hush@127.0.0.1/mill",
    "postgresql://tide:5432/hush@127.0.0.1/mill",
    "postgresql://tide:pw?hush@127.0.0.1/mill",
    "postgresql://tide:pw#hush@127.0.0.1@x/mill",
    "postgresql://tide:%zzhush@127.0.0.1/mill",
    "postgresql://tide:hush[@127.0.0.1:port/mill",
    "postgresql://127.0.0.1/mill?password=pw&hush",
    "host=127.0.0.1 password=pw hush",
    "host=127.0.0.1 password='hush",
    "host=127.0.0.1 port=hush",
]


@pytest.mark.parametrize("url", UNREADABLE)
def test_an_address_that_would_be_misread_is_refused_and_nothing_of_it_is_told(url: str) -> None:
    with pytest.raises(ConfigurationError, match="DATABASE_URL") as caught:
        address.read(url)
    assert "hush" not in f"{caught.value}{caught.value.__cause__}"
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    with pytest.raises(ConfigurationError):
        App(Settings({"DATABASE_URL": url}))


@pytest.mark.parametrize(
    ("url", "host", "password"),
    [
        ("postgresql://tide:p%40ss%2Fw%3F@db.example.org:5432/mill", "db.example.org", "p@ss/w?"),
        ("postgresql://tide:pass@db.example.org/mill?application_name=a", "db.example.org", "pass"),
        ("postgresql://tide:pass@[::1]:5432/mill", "::1", "pass"),
        ("postgresql://tide:pass@one:5432,two:5433/mill", "one,two", "pass"),
        ("host=db.example.org user=tide password='it\\'s'", "db.example.org", "it's"),
        ("postgresql:///mill?host=/run/postgresql&password=pass", "/run/postgresql", "pass"),
        ("host=db.example.org user=tide password='p@ss w'", "db.example.org", "p@ss w"),
        ("postgresql://", None, None),
    ],
)
def test_an_address_is_read(url: str, host: str | None, password: str | None) -> None:
    found = address.read(url)
    assert (found.get("host"), found.get("password")) == (host, password)
