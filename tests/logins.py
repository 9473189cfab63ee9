"""A user whom the server asks for a password; everybody else is let in as before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tidemill.wire import Connection

from local.postgres import Postgres


class Login:
    """The user `name`, on the database that `url` names."""

    def __init__(self, admin: Connection, url: str, name: str) -> None:
        self.admin = admin
        self.name = name
        self._url = url

    def url(self, password: str) -> str:
        """Set the password; the address with it."""
        self.admin.execute(f"alter role {self.name} password '{password}'")  # type: ignore[arg-type]
        return make_conninfo(self._url, user=self.name, password=password)

    def end_connections(self) -> None:
        ended = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = %s"
        self.admin.execute(ended, (self.name,))


@contextmanager
def login(postgres: Postgres, url: str) -> Iterator[Login]:
    """A user of this process, who may do what the functions do."""
    name = f"login_{os.getpid()}"
    rules = Path(str(conninfo_to_dict(postgres.url())["host"])) / "pg_hba.conf"
    kept = rules.read_text("utf-8")
    with psycopg.connect(url, autocommit=True) as admin:
        one = Login(admin, url, name)
        admin.execute(f"create role {name} login")  # type: ignore[arg-type]
        for what in ("tables", "sequences"):
            admin.execute(f"grant all on all {what} in schema public to {name}")  # type: ignore[arg-type]
        rules.write_text(f"local all {name} scram-sha-256\n{kept}")
        admin.execute("select pg_reload_conf()")
        try:
            yield one
        finally:
            rules.write_text(kept)
            admin.execute("select pg_reload_conf()")
            one.end_connections()
            admin.execute(f"drop owned by {name}")  # type: ignore[arg-type]
            admin.execute(f"drop role {name}")  # type: ignore[arg-type]
