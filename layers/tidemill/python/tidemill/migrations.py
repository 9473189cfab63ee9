"""Numbered SQL files, applied once each, in order.

Two runs at once are safe: the second waits for a lock that the server frees when its holder dies, however it dies. Each
file and the note that it was applied are one transaction, so a killed run is simply run again. A file whose first line is
`-- no transaction` runs statement by statement (for `create index concurrently`) and must be fit to be run again.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psycopg

from tidemill.db import connect
from tidemill.errors import ConfigurationError
from tidemill.wire import Connection

# In the space of two int4 keys, which nothing else of Tidemill uses: 'tide', 1.
LOCK = (0x74696465, 1)

_name = re.compile(r"^(\d{4})_[a-z0-9_]+\.sql$")

_table = """
create table if not exists migrations (
  name text primary key,
  sha256 text not null,
  applied_at timestamptz not null default now()
)"""


class Migration(NamedTuple):
    name: str
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def migrate(
    url: str,
    folder: Path | None = None,
    wait: float = 240,
    sleep: Callable[[float], None] = time.sleep,
    connect: Callable[[str], Connection] = connect,
) -> list[str]:
    """Apply every file in `folder` that was not applied yet and return their names; [] when there was nothing to do.

    `url` must reach the server itself, not a transaction pooler: the lock belongs to a session. Waits up to `wait` seconds
    for another run. Raises ConfigurationError for a file that was edited after it was applied, one that is missing or
    comes before an applied one, and for an index that an interrupted build left invalid.
    """
    found = read(folder or default_folder())
    with connect(url) as connection:
        _lock(connection, wait, sleep)
        connection.execute(_table)
        applied: dict[str, str] = dict(connection.execute("select name, sha256 from migrations").fetchall())
        _check(found, applied)
        fresh = [one for one in found if one.name not in applied]
        for one in fresh:
            _apply(connection, one)
        _refuse_invalid_indexes(connection)
        return [one.name for one in fresh]


def read(folder: Path) -> list[Migration]:
    """The migrations in a folder, in the order of their numbers. Raises ConfigurationError for two with one number."""
    found = [
        Migration(path.name, path.read_text("utf-8")) for path in sorted(folder.glob("*.sql")) if _name.match(path.name)
    ]
    if not found:
        raise ConfigurationError(f"no migrations in {folder}: set SQL_FOLDER to the folder with the numbered .sql files")
    numbers = [one.name[:4] for one in found]
    twice = sorted({one.name for one in found if numbers.count(one.name[:4]) > 1})
    if twice:
        raise ConfigurationError(f"migrations with the same number: {', '.join(twice)}")
    return found


def default_folder() -> Path:
    """The folder that SQL_FOLDER names, else `sql/` of the checkout that this file is part of."""
    if folder := os.environ.get("SQL_FOLDER"):
        return Path(folder)
    return Path(__file__).parents[4] / "sql"


def _check(found: list[Migration], applied: dict[str, str]) -> None:
    names = [one.name for one in found]
    faults = [
        f"{one.name} was edited after it was applied: put it back and write a new file"
        for one in found
        if one.name in applied and applied[one.name] != one.sha256
    ]
    faults += [
        f"{one.name} comes before {max(applied)}, which is applied: give it a later number"
        for one in found
        if applied and one.name not in applied and one.name < max(applied)
    ]
    # Newer files than ours are no fault: an older version may be deployed again (a rollback) over a newer schema.
    faults += [f"{name} was applied but is not in the folder" for name in applied if name not in names and name < names[-1]]
    if faults:
        raise ConfigurationError("; ".join(faults))


def _lock(connection: Connection, wait: float, sleep: Callable[[float], None]) -> None:
    # Polled, in autocommit: a session that waits inside pg_advisory_lock holds a snapshot, and `create index concurrently`
    # of the one that has the lock would wait for that snapshot.
    waited = 0.0
    while connection.execute("select pg_try_advisory_lock(%s, %s)", LOCK).fetchone() != (True,):
        if waited >= wait:
            raise ConfigurationError(f"another migration has been running for {wait:.0f} s; try again when it has ended")
        sleep(0.2)
        waited += 0.2


def _apply(connection: Connection, one: Migration) -> None:
    try:
        if one.text.startswith("-- no transaction"):
            for statement in re.split(r";\s*$", one.text, flags=re.MULTILINE):
                if re.sub(r"--.*", "", statement).strip():
                    connection.execute(statement)
            _note(connection, one)
            return
        with connection.transaction():
            connection.execute(one.text)
            _note(connection, one)
    except psycopg.Error as error:
        error.add_note(f"in the migration {one.name}")
        raise


def _note(connection: Connection, one: Migration) -> None:
    connection.execute("insert into migrations (name, sha256) values (%s, %s)", (one.name, one.sha256))


def _refuse_invalid_indexes(connection: Connection) -> None:
    rows = connection.execute(
        "select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid"
        " where not i.indisvalid and c.relnamespace = current_schema()::regnamespace order by 1"
    ).fetchall()
    if rows:
        names = ", ".join(str(name) for (name,) in rows)
        raise ConfigurationError(f"invalid indexes, left by an interrupted build: {names}; drop them and migrate again")
