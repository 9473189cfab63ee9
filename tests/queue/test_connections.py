"""Connections: remade when they are dead or useless, one a container, and bound to no session of a proxy."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tidemill import custom_resource
from tidemill.connector import Connector
from tidemill.db import Database, connect
from tidemill.errors import ConfigurationError
from tidemill.handlers import Handler
from tidemill.wire import Connection
from tidemill.worker import Worker

from local.postgres import Postgres
from tests.chaos.links import Link
from tests.conftest import ROOT
from tests.logins import Login
from tests.queue.conftest import put, socket_of
from tests.queue.everything import run_everything


@pytest.fixture
def link(postgres: Postgres) -> Iterator[Link]:
    link = Link(socket_of(postgres))
    yield link
    link.close()


def test_a_connection_that_died_without_a_word_while_the_container_slept_is_remade(own_url: str, link: Link) -> None:
    """B77: nothing tells before something is sent; so after a sleep something is sent that does no harm."""
    time = [1_000.0]
    database = Database(make_conninfo(own_url, host="127.0.0.1", port=link.port), now=lambda: time[0])
    database.execute("health")
    pid = database.connection().info.backend_pid
    time[0] += 61
    link.lose_answer()
    assert database.execute("health") == [(1,)]
    assert link.lost == 1 and database.connection().info.backend_pid != pid
    database.close()


def test_a_connection_in_use_is_not_asked_whether_it_lives(own_url: str, link: Link) -> None:
    database = Database(make_conninfo(own_url, host="127.0.0.1", port=link.port), now=lambda: 1_000.0)
    database.execute("health")
    link.lose_answer()
    with pytest.raises(psycopg.OperationalError):
        database.execute("health")
    assert database.execute("health") == [(1,)]
    database.close()


def test_a_drain_goes_on_after_its_idle_connection_was_ended(
    own_url: str, connection: Connection, worker: Callable[..., Worker]
) -> None:
    """B77."""
    one = worker(Handler("work", lambda job, ctx: None))
    put(connection, 1)
    assert one.drain(120)["done"] == 1
    connection.execute(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()"
    )
    put(connection, 1)
    assert one.drain(120)["done"] == 1


def test_a_connection_to_a_node_that_only_reads_is_left_for_one_that_writes(own_url: str, connection: Connection) -> None:
    """B79: the name leads to the new node, and the old connection still to the old one."""
    nodes = [make_conninfo(own_url, options="-c default_transaction_read_only=on"), own_url]
    database = Database(own_url, lambda url: connect(nodes.pop(0)))
    database.execute("told", {"ids": []})
    assert nodes == []
    database.close()


def test_a_node_that_stays_read_only_is_an_error_and_no_loop(own_url: str) -> None:
    """B79."""
    made: list[str] = []

    def read_only(url: str) -> Connection:
        made.append(url)
        return connect(make_conninfo(url, options="-c default_transaction_read_only=on"))

    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        Database(own_url, read_only).execute("told", {"ids": []})
    assert len(made) == 2


def test_a_commit_whose_answer_was_lost_is_not_run_again(own_url: str, link: Link, connection: Connection) -> None:
    """B79: nobody but the caller can tell what then is safe."""
    database = Database(make_conninfo(own_url, host="127.0.0.1", port=link.port))
    database.connection()
    link.lose_answer()
    with pytest.raises(psycopg.OperationalError):
        database.execute("publish", {"topic": "news", "payload": "1", "attributes": "{}"})
    connection.execute("select pg_sleep(0.1)")
    assert connection.execute("select count(*) from outbox").fetchone() == (1,)
    database.close()


def test_overload_is_an_error_and_not_a_pile_of_connections(login: Login) -> None:
    """B80."""
    url = login.url("a-password")
    login.admin.execute(f"alter role {login.name} connection limit 3")  # type: ignore[arg-type]
    containers = [Database(url, Connector()) for _ in range(20)]

    def use(database: Database) -> str:
        try:
            for _ in range(3):
                database.execute("health")
        except psycopg.OperationalError as error:
            return "too many connections" if "too many connections" in str(error) else str(error)
        return "ok"

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(use, containers))
    assert set(answers) == {"ok", "too many connections"} and answers.count("ok") == 3
    open_now = "select count(*) from pg_stat_activity where usename = %s"
    assert login.admin.execute(open_now, (login.name,)).fetchone() == (3,)
    for database in containers:
        database.close()


PINNING = re.compile(
    r"^\s*(set|reset|listen|unlisten|prepare|deallocate|declare|discard|load)\b|\btemp(orary)?\b"
    r"|\bpg_(try_)?advisory|\bset_config\b|\b(nextval|setval|currval|lastval)\b",
    re.IGNORECASE,
)


class Traced:
    """Makes connections, and has libpq write down what they say to the server, each into a file of its own in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()

    def connect(self, *given: Any, **named: Any) -> Connection:
        made = psycopg.Connection.connect(*given, **named)
        with (self._folder / str(next(self._numbers))).open("wb") as file:
            made.pgconn.trace(os.dup(file.fileno()))
        return made

    def sent(self) -> list[tuple[str, str]]:
        """(kind, the rest) of each message of the clients."""
        texts = [path.read_text("utf-8", "replace") for path in self._folder.iterdir()]
        lines = [line.split("\t") for text in texts for line in text.split("\n")]
        return [(line[3], "\t".join(line[4:])) for line in lines if len(line) > 3 and line[1] == "F"]


def test_nothing_that_is_sent_pins_a_connection_of_a_proxy(
    own_url: str, connection: Connection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All functions are run, with their statements, transactions and retries; see the list of what pins in
    https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/rds-proxy-pinning.html"""
    traced = Traced(tmp_path)
    monkeypatch.setattr(psycopg, "connect", traced.connect)
    run_everything(own_url, connection)
    sent = traced.sent()
    kinds = {kind for kind, _ in sent}
    assert kinds <= {"Query", "Parse", "Bind", "Describe", "Execute", "Sync", "Terminate", "Flush"}
    statements = [text for kind, text in sent if kind in ("Query", "Parse")]
    assert len(statements) > 40
    for kind, text in sent:
        if kind in ("Parse", "Bind", "Describe", "Execute"):
            assert re.match(r'\s*(""\s+|S\s+""|P\s+"")', text), (kind, text[:200])
    for text in statements:
        assert not PINNING.search(re.sub(r'^\s*""\s*"|^\s*"', "", text)), text[:300]


def test_the_search_for_what_pins_finds_it() -> None:
    for text in ("set search_path to x", "LISTEN a", "create temp table t ()", "select pg_advisory_lock(1)", "discard all"):
        assert PINNING.search(text)
    for text in ("select 1", "update jobs set status = 'done'", "insert into offset_t", "select lock_signal('a')"):
        assert not PINNING.search(text)


def test_migrations_connect_as_the_functions_do(own_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "DATABASE_URL": own_url,
        "DATABASE_CA_FILE": "/no/such/file",
        "SQL_FOLDER": str(ROOT / "sql"),
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match="DATABASE_CA_FILE"):
        custom_resource.handle({}, None)
    monkeypatch.setenv("DATABASE_CA_FILE", "")
    assert custom_resource.handle({}, None) == {"ok": True, "applied": []}
