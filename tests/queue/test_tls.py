"""A server that is not on this machine is verified, by name and by authority, unless the address says otherwise."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import certifi
import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tidemill import address
from tidemill.connector import connector
from tidemill.db import connect
from tidemill.errors import ConfigurationError
from tidemill.settings import Settings

from local.postgres import Postgres
from tests.queue.conftest import socket_of
from tests.queue.tls import TlsServer, certificate

HOST = "db.example.com"


@pytest.fixture(scope="module")
def certificates() -> Iterator[Callable[[str], Path]]:
    with tempfile.TemporaryDirectory() as folder:
        yield lambda host: certificate(Path(folder), host)


@pytest.fixture
def tls(postgres: Postgres, certificates: Callable[[str], Path]) -> Iterator[TlsServer]:
    server = TlsServer(socket_of(postgres), certificates(HOST))
    yield server
    server.close()


def test_a_server_that_is_not_on_this_machine_is_verified(
    tls: TlsServer, own_url: str, certificates: Callable[[str], Path]
) -> None:
    url = make_conninfo(own_url, host=HOST, hostaddr="127.0.0.1", port=tls.port)
    with pytest.raises(psycopg.OperationalError, match="certificate verify failed"):
        connect(url)
    with pytest.raises(psycopg.OperationalError, match="certificate verify failed"):
        connect(url, ca_file=str(certificates("other")))
    with connect(url, ca_file=str(tls.certificate)) as made:
        assert (made.pgconn.ssl_in_use, made.execute("select 1").fetchone()) == (True, (1,))
    assert tls.plain == 0


def test_a_certificate_of_another_name_is_refused(tls: TlsServer, own_url: str) -> None:
    url = make_conninfo(own_url, host="other.example.com", hostaddr="127.0.0.1", port=tls.port)
    with pytest.raises(psycopg.OperationalError, match=f'"{HOST}".*does not match host name "other.example.com"'):
        connect(url, ca_file=str(tls.certificate))


@pytest.mark.parametrize("host", ["db.example.com", "10.0.0.5", "127.0.0.1,db.example.com", "localhost.example.com"])
def test_tls_is_verified_by_the_known_authorities_unless_told(host: str) -> None:
    found = address.parameters(f"postgresql://tide:pw@{host}/mill")
    assert (found["sslmode"], found["sslrootcert"]) == ("verify-full", certifi.where())


@pytest.mark.parametrize("url", ["postgresql:///mill?host=/tmp", "host=localhost", "postgresql://127.0.0.1", "", "host=::1"])
def test_on_this_machine_nobody_can_listen(url: str) -> None:
    assert "sslmode" not in address.parameters(url, "/a/file")


def test_what_the_address_says_of_tls_stands() -> None:
    assert address.parameters(f"postgresql://{HOST}/mill?sslmode=disable") == {
        "host": HOST, "dbname": "mill", "sslmode": "disable"
    }  # fmt: skip
    found = address.parameters(f"host={HOST} sslrootcert=/own.pem", "/file.pem")
    assert (found["sslmode"], found["sslrootcert"]) == ("verify-full", "/own.pem")
    found = address.parameters(f"host={HOST} sslmode=require", "/file.pem")
    assert (found["sslmode"], found["sslrootcert"]) == ("require", "/file.pem")


def test_a_file_of_certificates_that_is_none_stops_the_start(certificates: Callable[[str], Path]) -> None:
    with pytest.raises(ConfigurationError, match="DATABASE_CA_FILE must name a file with certificates"):
        connector(Settings({"DATABASE_CA_FILE": "/no/such/file"}), {})
    assert connector(Settings({"DATABASE_CA_FILE": str(certificates(HOST))}), {})._ca_file == str(certificates(HOST))
