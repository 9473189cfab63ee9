"""An operator's answer as people read it: values as lines, lists as tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

LONGEST_CELL = 300  # characters
_WHOLE = 20  # the width of a column that is never folded: that of an instant
_FOLDED = (16, 40)  # the least width of one that is: its longest word, within these bounds
_GAP = 2  # between two columns

_instant = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?\+00:00")
_nothing: tuple[Any, ...] = (None, "", [], {})


def show(console: Console, answer: Mapping[str, Any]) -> None:
    """Print an answer: first its values, then what has values of its own, then its tables. What is empty is left out, unless
    there is nothing else; what came from outside is text here, neither markup nor control sequences of the terminal."""
    told = {name: value for name, value in answer.items() if value not in _nothing}
    tables = {name: value for name, value in told.items() if _is_table(value)}
    groups = {name: value for name, value in told.items() if isinstance(value, dict) and name not in tables}
    _lines(console, told.keys() - tables.keys() - groups.keys(), told)
    if not told:
        empty = {name: "none" for name, value in answer.items() if value is not None}
        _lines(console, empty.keys(), empty)
    for name, group in groups.items():
        console.print(Text(name, style="italic"))
        _lines(console, group.keys(), group)
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


def _lines(console: Console, names: Iterable[str], values: Mapping[str, Any]) -> None:
    """The values of these names, in the order that they have there."""
    wanted = set(names)
    _pairs(console, [(name, _short(value)) for name, value in values.items() if name in wanted and value not in (None, "")])


def _pairs(console: Console, pairs: Sequence[tuple[str, Text]]) -> None:
    """A line each, with the values below one another; one that is too long goes on below its beginning."""
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        label = Text.assemble((f"{name:<{width}}  ", "bold"))
        if width + _GAP + value.cell_len <= console.width:
            console.print(label + value, soft_wrap=True)
            continue
        grid = Table.grid()
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(label, value)
        console.print(grid)


def _table(console: Console, value: Any) -> None:
    named = [{"": key, **row} for key, row in value.items()] if isinstance(value, dict) else value
    rows = [_with_one_error(row) for row in named]
    columns = dict.fromkeys(column for row in rows for column in row)
    told = [column for column in columns if any(row.get(column) not in _nothing for row in rows)]
    cells = [[_cell(row.get(column)) for column in told] for row in rows]
    shapes = [_shape(column, [one[at] for one in cells]) for at, column in enumerate(told)]
    room = console.width - _GAP * (len(told) - 1)
    if sum(least for least, _ in shapes) > room:
        for one in cells:
            _pairs(console, list(zip(told, one, strict=True)))
            console.print()
        return
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for column, width in zip(told, _widths(shapes, room), strict=True):
        table.add_column(Text(column), overflow="fold", width=width)
    for one in cells:
        table.add_row(*one)
    console.print(table)


def _shape(name: str, cells: Iterable[Text]) -> tuple[int, int]:
    """The least width of a column, and the one in which nothing of it is folded."""
    texts = [name, *(cell.plain for cell in cells)]
    widest = max(Text(text).cell_len for text in texts)
    longest = max(Text(word).cell_len for text in texts for word in text.split() or [""])
    return widest if widest <= _WHOLE else min(max(longest, _FOLDED[0]), _FOLDED[1], widest), widest


def _widths(shapes: Sequence[tuple[int, int]], room: int) -> list[int]:
    """The widths of columns: where there is not room for all, the ones with most to give are folded first."""
    widths = [widest for _, widest in shapes]
    for at in sorted(range(len(shapes)), key=lambda at: shapes[at][0] - shapes[at][1]):
        widths[at] -= max(min(shapes[at][1] - shapes[at][0], sum(widths) - room), 0)
    return widths


def _with_one_error(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in which the class of an error and its text are one column, the last."""
    shown = {name: value for name, value in row.items() if name not in ("error_class", "last_error", "error")}
    text = row.get("last_error") or row.get("error")
    return shown | {"error": ": ".join(filter(None, (row.get("error_class"), text)))}


def _cell(value: object) -> Text:
    if value in _nothing:
        return Text("-")
    if isinstance(value, list):
        return Text(f"{len(value)} of them")
    text = _short(value)
    text.truncate(LONGEST_CELL, overflow="ellipsis")
    return text


def _short(value: object) -> Text:
    """A value as text, an instant in UTC without its fraction."""
    if isinstance(value, str) and (match := _instant.fullmatch(value)):
        return Text(f"{match[1]} {match[2]}Z")
    return plain("none" if value in ([], {}) else value)
