"""The address of the database as connection parameters: TLS, with the server verified, unless it is on this machine or the
address says another `sslmode` itself."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tidemill.errors import ConfigurationError
from tidemill.settings import passwords_of

_unreadable = (
    "the database's address (DATABASE_URL, MIGRATIONS_DATABASE_URL) cannot be read: it must be"
    " postgresql://user:password@host:port/name, with what is special in the password percent-encoded, or key=value pairs"
)


def parameters(url: str, ca_file: str | None = None) -> dict[str, Any]:
    """The parameters of a URL or a connection string. `ca_file` has the certificates (PEM) that a server's is checked by;
    without one, and without `sslrootcert` in the address, those of certifi are, which know RDS Proxy and most providers (RDS
    itself has a bundle of its own). Raises as `read` does."""
    found = read(url)
    if all(map(_is_here, str(found.get("host") or found.get("hostaddr") or "").split(","))):
        return found
    if ca_file:
        found.setdefault("sslrootcert", ca_file)
    if "sslmode" not in found:
        found["sslmode"] = "verify-full"
        found.setdefault("sslrootcert", _known_authorities())
    return found


def read(url: str) -> dict[str, Any]:
    """The parameters as they are in the address. Raises ConfigurationError for one that cannot be read, or that is misread
    since its password is not encoded. The error holds nothing of it: libpq's own would tell a piece of the password, which
    no search for the whole finds."""
    try:
        found: dict[str, Any] = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise ConfigurationError(_unreadable) from None
    # What is read as the password here and not there would not be taken out of texts.
    known = found.get("password") is None or found["password"] in passwords_of(url)
    whole = re.fullmatch("[0-9,]*", str(found.get("port", ""))) and "@" not in str(found.get("dbname", ""))
    if not known or not whole:
        raise ConfigurationError(_unreadable)
    return found


def _is_here(host: str) -> bool:
    """Whether a host is this machine, so that nobody can listen on the way: a unix socket, or the loopback."""
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _known_authorities() -> str:
    import certifi

    return certifi.where()
