"""Migrations: applied once, by one at a time, and never after they were edited."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tidemill import migrations
from tidemill.db import connect
from tidemill.errors import ConfigurationError

from local.postgres import Postgres
from tests.conftest import ROOT


@pytest.fixture
def empty(postgres: Postgres) -> Iterator[str]:
    """The address of a database without anything in it."""
    name = f"empty_{os.getpid()}"
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"create database {name}")
    yield postgres.url(name)
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)")


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name[1:]}.sql").write_text(text)
    return folder


def test_the_projects_own_files_are_applied_once_each(empty: str) -> None:
    applied = migrations.migrate(empty, ROOT / "sql")
    assert applied == [path.name for path in sorted((ROOT / "sql").glob("*.sql"))]
    assert migrations.migrate(empty, ROOT / "sql") == []


def test_two_runs_at_once_apply_each_file_once(empty: str, tmp_path: Path) -> None:
    """B102"""
    write(tmp_path, _0001_a="create table a (); select pg_sleep(0.3)", _0002_b="create table b ()")
    applied: list[str] = []
    threads = [threading.Thread(target=lambda: applied.extend(migrations.migrate(empty, tmp_path))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert applied == ["0001_a.sql", "0002_b.sql"]


def test_a_run_that_waits_too_long_for_another_says_so(empty: str, tmp_path: Path) -> None:
    write(tmp_path, _0001_a="create table a ()")
    with connect(empty) as other:
        other.execute("select pg_advisory_lock(%s, %s)", migrations.LOCK)
        with pytest.raises(ConfigurationError, match="another migration"):
            migrations.migrate(empty, tmp_path, wait=1, sleep=lambda seconds: None)


def test_a_killed_run_can_be_run_again(empty: str, tmp_path: Path) -> None:
    write(tmp_path, _0001_a="create table a ()", _0002_b="create table b (); select pg_sleep(30)")
    code = "import sys, pathlib; from tidemill import migrations; migrations.migrate(sys.argv[1], pathlib.Path(sys.argv[2]))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "layers/tidemill/python")}
    child = subprocess.Popen([sys.executable, "-c", code, empty, str(tmp_path)], env=environment)
    with connect(empty) as connection:
        deadline = time.monotonic() + 20
        sleeping = "select pid from pg_stat_activity where query like '%%pg_sleep(30)' and wait_event = 'PgSleep'"
        while not (row := connection.execute(sleeping).fetchone()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert row is not None
        child.send_signal(signal.SIGKILL)
        child.wait()
        # A server notices a dead client when it next talks to it; the operator need not wait for that.
        connection.execute("select pg_terminate_backend(%s)", row)
    write(tmp_path, _0002_b="create table b ()")
    assert migrations.migrate(empty, tmp_path) == ["0002_b.sql"]


def test_an_applied_file_that_was_edited_is_refused_by_name(empty: str, tmp_path: Path) -> None:
    write(tmp_path, _0001_a="create table a ()", _0002_b="create table b ()")
    migrations.migrate(empty, tmp_path)
    write(tmp_path, _0001_a="create table a (id int)", _0003_c="create table c ()")
    with pytest.raises(ConfigurationError, match=r"0001_a\.sql was edited"):
        migrations.migrate(empty, tmp_path)
    with connect(empty) as connection:
        assert connection.execute("select to_regclass('c')").fetchone() == (None,)


def test_a_file_with_a_number_before_an_applied_one_is_refused(empty: str, tmp_path: Path) -> None:
    write(tmp_path, _0002_b="create table b ()")
    migrations.migrate(empty, tmp_path)
    write(tmp_path, _0001_a="create table a ()")
    with pytest.raises(ConfigurationError, match=r"0001_a\.sql comes before 0002_b\.sql"):
        migrations.migrate(empty, tmp_path)


def test_an_older_version_may_be_deployed_over_a_newer_schema(empty: str, tmp_path: Path) -> None:
    write(tmp_path, _0001_a="create table a ()", _0002_b="create table b ()")
    migrations.migrate(empty, tmp_path)
    (tmp_path / "0002_b.sql").unlink()
    assert migrations.migrate(empty, tmp_path) == []


def test_two_files_with_one_number_are_refused(tmp_path: Path) -> None:
    write(tmp_path, _0001_a="select 1", _0001_b="select 1")
    with pytest.raises(ConfigurationError, match=r"0001_a\.sql, 0001_b\.sql"):
        migrations.read(tmp_path)


def test_a_failing_file_leaves_nothing_behind_and_is_named(empty: str, tmp_path: Path) -> None:
    write(tmp_path, _0001_a="create table a (); select 1 / 0")
    with pytest.raises(psycopg.Error) as caught:
        migrations.migrate(empty, tmp_path)
    assert caught.value.__notes__ == ["in the migration 0001_a.sql"]
    with connect(empty) as connection:
        assert connection.execute("select to_regclass('a')").fetchone() == (None,)


def test_an_index_that_an_interrupted_build_left_invalid_is_refused(empty: str, tmp_path: Path) -> None:
    """B100"""
    write(tmp_path, _0001_a="create table a (id int); insert into a values (1), (1)")
    migrations.migrate(empty, tmp_path)
    build = "-- no transaction\ndrop index if exists a_id;\ncreate unique index concurrently a_id on a (id);\n"
    write(tmp_path, _0002_b=build)
    with pytest.raises(psycopg.errors.UniqueViolation):
        migrations.migrate(empty, tmp_path)
    (tmp_path / "0002_b.sql").rename(tmp_path / "later")
    with pytest.raises(ConfigurationError, match=r"invalid indexes.*a_id"):
        migrations.migrate(empty, tmp_path)
    with connect(empty) as connection:
        connection.execute("delete from a where ctid = '(0,1)'")
    (tmp_path / "later").rename(tmp_path / "0002_b.sql")
    assert migrations.migrate(empty, tmp_path) == ["0002_b.sql"]
