"""An operator's answer as people read it: values as lines, lists as tables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

LONGEST_CELL = 300  # characters

_instant = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?\+00:00")
_nothing: tuple[Any, ...] = (None, "", [], {})


def show(console: Console, answer: Mapping[str, Any]) -> None:
    """Print an answer: first its values, then what has values of its own, then its tables. What is null or '' is left out;
    what came from outside is text here, neither markup nor control sequences of the terminal."""
    tables = {name: value for name, value in answer.items() if _is_table(value)}
    groups = {name: value for name, value in answer.items() if isinstance(value, dict) and value and name not in tables}
    _lines(console, {name: value for name, value in answer.items() if name not in tables and name not in groups})
    for name, group in groups.items():
        console.print(Text(name, style="italic"))
        _lines(console, group)
    for name, table in tables.items():
        console.print(Text(name, style="italic"))
        _table(console, table)


def plain(value: object) -> Text:
    """A value as text that does nothing to a terminal: what is not printable is shown as an escape."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Text("".join(char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1] for char in text))


def _is_table(value: object) -> bool:
    rows = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return bool(rows) and all(isinstance(row, dict) for row in rows)


def _lines(console: Console, values: Mapping[str, Any]) -> None:
    grid = Table.grid(padding=(0, 2))
    for name, value in values.items():
        if value not in (None, ""):
            grid.add_row(Text(name, style="bold"), plain("none" if value in ([], {}) else value))
    if grid.row_count:
        console.print(grid)


def _table(console: Console, value: Any) -> None:
    rows = [{"": key, **row} for key, row in value.items()] if isinstance(value, dict) else value
    columns = dict.fromkeys(column for row in rows for column in row)
    table = Table()
    told = [column for column in columns if any(row.get(column) not in _nothing for row in rows)]
    for column in told:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row.get(column)) for column in told))
    console.print(table)


def _cell(value: object) -> Text:
    if value in _nothing:
        return Text("-")
    if isinstance(value, list):
        return Text(f"{len(value)} of them")
    if isinstance(value, str) and (match := _instant.fullmatch(value)):
        return Text(f"{match[1]} {match[2]}Z")
    text = plain(value)
    text.truncate(LONGEST_CELL, overflow="ellipsis")
    return text
