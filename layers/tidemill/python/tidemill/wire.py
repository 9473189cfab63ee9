"""Statements, one .sql file each, and how one goes over a connection."""

from __future__ import annotations

import json
import re
import select
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import psycopg
from psycopg import errors, generators
from psycopg.abc import Buffer
from psycopg.adapt import Loader, PyFormat, Transformer
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult
from psycopg.rows import tuple_row

Row = tuple[Any, ...]
Connection = psycopg.Connection[Row]

_scan_json = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


class JsonbLoader(Loader):
    """What `json.loads` makes of it in a quarter of the time: jsonb comes as UTF-8, and with nothing around it."""

    def load(self, data: Buffer) -> Any:
        return _scan_json(str(data, "utf-8"), 0)[0]


@cache
def statement(name: str) -> str:
    """The text of tidemill/statements/<name>.sql."""
    return files("tidemill.statements").joinpath(f"{name}.sql").read_text("utf-8")


class InFlight:
    """A statement that was sent. The other methods wait for its answer, and raise the psycopg.Error that it is.

    It does what a cursor does, with half as much around it: no cursor, no description of the columns, and the server works
    while the client does something else. Raises psycopg.OperationalError where it cannot be sent.
    """

    def __init__(self, connection: Connection, name: str, parameters: Mapping[str, Any] | None = None) -> None:
        text, names, formats = _numbered(name)
        given = parameters or {}
        self._transformer = Transformer(connection)
        values = self._transformer.dump_sequence([given[one] for one in names], formats)
        self._connection: Connection | None = connection
        self._result: PGresult | None = None
        self._error: psycopg.Error | None = None
        connection.pgconn.send_query_params(text, values, self._transformer.types, self._transformer.formats)
        connection.wait(generators.send(connection.pgconn))

    def arrive(self) -> None:
        """Read the answer, once; does not raise what it is."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            result = connection.wait(generators.fetch_many(connection.pgconn))[-1]
            if result.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
                self._result = result
                self._transformer.set_pgresult(result)
            else:
                self._error = errors.error_from_result(result, connection.info.encoding)
        except psycopg.Error as error:
            self._error = error

    def count(self) -> int:
        """How many rows there are."""
        return self._answer().ntuples

    def first(self) -> Row:
        """The first row. Raises IndexError where there is none."""
        self._answer()
        row: Row = self._transformer.load_row(0, tuple)
        return row

    def rows(self) -> list[Row]:
        """The rows."""
        rows: list[Row] = self._transformer.load_rows(0, self._answer().ntuples, tuple)
        return rows

    def _answer(self) -> PGresult:
        self.arrive()
        if self._result is None:
            assert self._error is not None
            raise self._error
        return self._result


@cache
def _numbered(name: str) -> tuple[bytes, list[str], list[PyFormat]]:
    """A statement with $1, $2 ..., the names of its parameters in this order, and their formats (%(name)b is binary)."""
    found: dict[str, PyFormat] = {}

    def number(parameter: re.Match[str]) -> str:
        found.setdefault(parameter[1], PyFormat.BINARY if parameter[2] == "b" else PyFormat.AUTO)
        return f"${list(found).index(parameter[1]) + 1}"

    text = re.sub(r"%\((\w+)\)([sb])", number, statement(name))
    return text.encode(), list(found), list(found.values())


def run(connection: Connection, text: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
    """Run one statement on a connection and return its rows ([] where it has none), as tuples whatever rows a handler has
    chosen for itself."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        cursor.execute(text, parameters)
        return cursor.fetchall() if cursor.description else []


def alive(connection: Connection) -> bool:
    """False when the connection is closed, or when the server has hung up while nobody was listening.

    A healthy idle connection has nothing to read; one whose server was stopped has its farewell waiting. This costs no
    round trip.
    """
    if connection.closed or connection.broken:
        return False
    readable, _, _ = select.select([connection.fileno()], [], [], 0)
    return not readable
