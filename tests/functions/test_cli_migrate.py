"""tidemill migrate, and what the CLI needs to be installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg

from tests.conftest import ROOT

LAYERS = [str(ROOT / "layers/tidemill/python"), str(ROOT)]


def migrate(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m tidemill migrate` where neither typer nor rich is installed."""
    hidden = "import runpy, sys; sys.modules['typer'] = sys.modules['rich'] = None"
    program = f"{hidden}; runpy.run_module('tidemill', run_name='__main__')"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(LAYERS), "DATABASE_URL": url}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_migrate_needs_no_more_than_the_layer(postgres: Any) -> None:
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("create database fresh_for_migrate")
    try:
        url = postgres.url("fresh_for_migrate")
        first, second = migrate(url, "migrate"), migrate(url, "migrate")
        names = sorted(path.name for path in (ROOT / "sql").glob("*.sql"))
        assert first.stdout.splitlines() == [f"applied {name}" for name in names], first.stderr
        assert (second.returncode, second.stdout) == (0, "nothing to apply\n")
    finally:
        with psycopg.connect(postgres.url(), autocommit=True) as connection:
            connection.execute("drop database fresh_for_migrate with (force)")


def test_migrations_that_cannot_be_applied_are_said(database_url: str, tmp_path: Path) -> None:
    result = migrate(database_url, "migrate", "--folder", str(tmp_path))
    assert result.returncode == 1 and "no migrations in" in result.stderr
    away = migrate("postgresql://ann:hush-hush-hush@127.0.0.1:1/none", "migrate")
    assert away.returncode == 3 and "OperationalError" in away.stderr and "hush" not in away.stderr


def test_a_command_without_typer_says_what_to_install(database_url: str) -> None:
    result = migrate(database_url, "stats")
    assert result.returncode != 0 and "pip install typer rich" in result.stderr
