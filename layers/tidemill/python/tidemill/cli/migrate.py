"""tidemill migrate: apply the migrations, with no more installed than what the layer has."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import psycopg

from tidemill import migrations, settings
from tidemill.connector import connector
from tidemill.errors import ConfigurationError


def migrate(arguments: Sequence[str]) -> int:
    """Apply the migrations and say which. The exit code: 0, or 1 where they could not be applied, 3 without a database."""
    parser = argparse.ArgumentParser(prog="tidemill migrate", description="Apply the migrations that were not applied yet.")
    parser.add_argument(
        "--database", help="the server, not a pooler; unless given MIGRATIONS_DATABASE_URL, else DATABASE_URL"
    )
    parser.add_argument("--folder", type=Path, help="the .sql files; unless given SQL_FOLDER, else sql/ of the checkout")
    given = parser.parse_args(arguments)
    loaded = settings.Settings({})
    try:
        loaded = settings.load({**os.environ, **({"DATABASE_URL": given.database} if given.database else {})})
        loaded.require("DATABASE_URL")
        url = given.database or loaded.get("MIGRATIONS_DATABASE_URL") or loaded["DATABASE_URL"]
        applied = migrations.migrate(url, given.folder, connect=connector(loaded, os.environ))
    except (ConfigurationError, psycopg.Error) as error:
        print(loaded.redact(f"{type(error).__name__}: {error}").strip(), file=sys.stderr)
        return 3 if isinstance(error, psycopg.OperationalError) else 1
    print("\n".join(f"applied {name}" for name in applied) or "nothing to apply")
    return 0
