"""The database user of the functions, where they log in by IAM: on a server that has RDS's role for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import errors, sql
from tidemill import migrations

from local.postgres import FAST, Postgres

ROOT = Path(__file__).parents[2]
MakeDatabase = Callable[[str], str]


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    folder = Path(tempfile.mkdtemp(prefix="tidemill-login-"))
    try:
        with Postgres(folder / "data", FAST) as server:
            with psycopg.connect(server.url(), autocommit=True) as connection:
                connection.execute("create role rds_iam")
                connection.execute("create role weak login")
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def make_database(server: Postgres) -> Iterator[MakeDatabase]:
    """`make_database(owner)` gives the address of an empty database, as its owner reaches it."""
    made: list[str] = []

    def make(owner: str) -> str:
        made.append(f"login_{len(made)}")
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("create database {} owner {}").format(*map(sql.Identifier, (made[-1], owner))))
        return as_user(server.url(made[-1]), owner)

    yield make
    with psycopg.connect(server.url(), autocommit=True) as connection:
        for name in made:
            connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def as_user(url: str, user: str) -> str:
    return url.replace("//postgres:", f"//{user}:")


def roles(server: Postgres) -> set[str]:
    with psycopg.connect(server.url()) as connection:
        return {name for (name,) in connection.execute("select rolname from pg_roles").fetchall()}


def test_where_migrations_may_make_no_users_they_do_without(server: Postgres, make_database: MakeDatabase) -> None:
    url = make_database("weak")
    assert migrations.migrate(url, ROOT / "sql")
    assert migrations.migrate(url, ROOT / "sql") == []
    assert "tidemill_app" not in roles(server)


def test_the_functions_run_as_a_user_that_owns_nothing(server: Postgres, make_database: MakeDatabase) -> None:
    url = make_database("postgres")
    migrations.migrate(url, ROOT / "sql")
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{ROOT}:{ROOT / 'layers/tidemill/python'}",
        "DATABASE_URL": as_user(url, "tidemill_app"),
    }
    command = [sys.executable, "-m", "tests.deploy.emitting"]
    ran = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "job done" in ran.stdout and "slot enqueued" in ran.stdout
    assert "permission denied" not in ran.stdout and "InsufficientPrivilege" not in ran.stdout
    with psycopg.connect(as_user(url, "tidemill_app"), autocommit=True) as connection:
        for forbidden in ("drop table jobs", "create table mine (x int)", "alter table jobs add x int", "create role x"):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(forbidden)


def test_what_later_migrations_make_is_the_functions_too(server: Postgres, make_database: MakeDatabase) -> None:
    url = make_database("postgres")
    migrations.migrate(url, ROOT / "sql")
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("create table later (id bigint generated always as identity, name text)")
    with psycopg.connect(as_user(url, "tidemill_app"), autocommit=True) as connection:
        connection.execute("insert into later (name) values ('a')")
        assert connection.execute("delete from later returning id, name").fetchall() == [(1, "a")]


def test_two_databases_of_one_server_share_the_user(server: Postgres, make_database: MakeDatabase) -> None:
    for _ in range(2):
        migrations.migrate(make_database("postgres"), ROOT / "sql")
    with psycopg.connect(server.url()) as connection:
        members = connection.execute(
            "select m.rolname from pg_auth_members a join pg_roles g on g.oid = a.roleid join pg_roles m on m.oid = a.member"
            " where g.rolname = 'rds_iam'"
        ).fetchall()
    assert members == [("tidemill_app",)]
