"""What an operator may write: each bad input is answered with its field, and nothing of it reaches SQL."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from tidemill.errors import CommandError
from tidemill.operate import COMMANDS, arguments
from tidemill.wire import Connection

from tests.queue.operating import NOW, SECRET, add_job, operations, operator

HUGE = 99999999999999999999


def error_of(command: object, database_url: str = "postgresql://nobody@127.0.0.1:1/none") -> dict[str, Any]:
    """The error that a command is answered with, by default where a database would raise if it were asked."""
    answer = operator(database_url).run(command)
    assert answer["ok"] is False
    return dict(answer["error"])


@pytest.mark.parametrize("command", [None, [], "stats", 5, {}, {"command": None}, {"command": 5}, {"command": "drop"}])
def test_what_is_no_command_is_invalid(command: object) -> None:
    error = error_of(command)
    assert (error["code"], error["field"]) == ("invalid", "command")


@pytest.mark.parametrize("value", ["12abc", "42", HUGE, 0, -1, True, 1.0, [42], {}, 2**63])
@pytest.mark.parametrize("name", ["retry", "cancel", "show"])
def test_an_id_is_a_whole_number_of_a_bigint(name: str, value: object) -> None:
    """B75: wrong types and ids out of range are answered with the field."""
    error = error_of({"command": name, "job": value})
    assert (error["code"], error["field"]) == ("invalid", "job")


@pytest.mark.parametrize("value", ["50", -1, 0, True, 1.5, float("inf"), float("nan"), []])
def test_a_page_size_is_a_whole_number(value: object) -> None:
    """B75"""
    error = error_of({"command": "failed", "limit": value})
    assert (error["code"], error["field"]) == ("invalid", "limit")


@pytest.mark.parametrize("value", [10**9, 1e9, HUGE])
def test_a_page_size_is_capped(value: object) -> None:
    """B75"""
    assert arguments.page("limit", value) == arguments.LARGEST_PAGE


@pytest.mark.parametrize("value", ["%%", "", 5, "é", "MjAyNw==", "bm8gbg==", arguments.cursor_of("2027-04-30", 1), True])
def test_a_cursor_that_nobody_gave_is_invalid(value: object) -> None:
    """B75"""
    error = error_of({"command": "failed", "after": value})
    assert (error["code"], error["field"]) == ("invalid", "after")


def test_a_cursor_reads_back_what_it_was_made_of() -> None:
    made = arguments.cursor_of("2027-04-30T09:00:00.123456+00:00", 42)
    assert arguments.cursor("after", made) == (datetime(2027, 4, 30, 9, 0, 0, 123456, UTC), 42)


@pytest.mark.parametrize(
    "value", ["yesterday", "2027-04-30", "2027-04-30T09:00:00", "2h ago", "999999d", 5, "", "2027-13-01T00:00Z"]
)
@pytest.mark.parametrize("field", ["since", "until"])
def test_an_instant_without_an_offset_is_invalid(field: str, value: object) -> None:
    error = error_of({"command": "retry", field: value})
    assert (error["code"], error["field"]) == ("invalid", field)


def test_an_instant_is_iso_8601_or_a_time_ago() -> None:
    readers = {"since": arguments.instant, "until": arguments.instant}
    values = arguments.read({"since": "2h", "until": "2027-04-30T12:00:00+03:00"}, readers, lambda: NOW)
    assert values == {"since": NOW - timedelta(hours=2), "until": NOW}


def test_an_empty_span_is_invalid() -> None:
    readers = {"since": arguments.instant, "until": arguments.instant}
    with pytest.raises(CommandError, match="until must be later than since"):
        arguments.read({"since": "1h", "until": "2h"}, readers, lambda: NOW)


@pytest.mark.parametrize("value", ["", "x" * 201, "a\x00b", "\ud800", 5, True, []])
@pytest.mark.parametrize("field", ["kind", "error_class", "by"])
def test_a_name_can_be_stored(field: str, value: object) -> None:
    error = error_of({"command": "failed", field: value})
    assert (error["code"], error["field"]) == ("invalid", field)


@pytest.mark.parametrize("value", [1, "true", 0, []])
def test_a_flag_is_true_or_false(value: object) -> None:
    error = error_of({"command": "retry", "kind": "a", "dry_run": value})
    assert (error["code"], error["field"]) == ("invalid", "dry_run")


@pytest.mark.parametrize("value", [0, -5, True, "600", float("nan"), float("inf"), 10**12])
def test_a_pause_is_positive_seconds(value: object) -> None:
    error = error_of({"command": "pause", "limit": "telegram", "for": value})
    assert (error["code"], error["field"]) == ("invalid", "for")


@pytest.mark.parametrize("name", list(COMMANDS))
def test_an_unknown_field_is_named(name: str) -> None:
    error = error_of({"command": name, "kinds": "a"})
    assert (error["code"], error["field"]) == ("invalid", "kinds")


@pytest.mark.parametrize(
    ("command", "field"),
    [
        ({"command": "retry"}, "job"),
        ({"command": "retry", "job": 1, "kind": "a"}, "kind"),
        ({"command": "retry", "kind": "a", "force": True}, "force"),
        ({"command": "replay"}, "event"),
        ({"command": "replay", "unrouted": False}, "event"),
        ({"command": "replay", "event": 1, "source": "a"}, "source"),
        ({"command": "show"}, "job"),
        ({"command": "show", "job": 1, "event": 1}, "job"),
        ({"command": "cancel"}, "job"),
        ({"command": "pause"}, "limit"),
        ({"command": "resume"}, "limit"),
    ],
)
def test_a_command_without_its_object_or_with_two_is_invalid(command: object, field: str) -> None:
    error = error_of(command)
    assert (error["code"], error["field"]) == ("invalid", field)


@pytest.mark.parametrize(
    ("name", "field"), [("retry", "job"), ("cancel", "job"), ("show", "job"), ("show", "event"), ("replay", "event")]
)
def test_an_unknown_id_is_not_found(database_url: str, name: str, field: str) -> None:
    """B71: unknown id"""
    error = error_of({"command": name, field: 2**63 - 1}, database_url)
    assert (error["code"], error["field"]) == ("not_found", field)


def test_null_stands_for_a_field_that_is_left_out(database_url: str) -> None:
    assert operator(database_url).run({"command": "failed", "after": None, "kind": None}) == {
        "ok": True,
        "jobs": [],
        "after": None,
    }


@pytest.mark.usefixtures("planted")
def test_who_gave_a_command_and_what_is_on_record_without_secrets(database_url: str, connection: Connection) -> None:
    add_job(connection, status="failed", error_class=SECRET)
    operator(database_url).run({"command": "retry", "error_class": SECRET, "since": "2h", "by": f"ann {SECRET}"})
    [(by, command, given, _)] = operations(connection)
    assert (by, command, given) == ("ann ***", "retry", {"error_class": "***", "since": "2h"})


def test_a_secret_shows_in_no_answer_and_no_log_line(database_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("show", SECRET):
        answer = operator(database_url).run({"command": name, "job": SECRET})
        assert SECRET not in json.dumps(answer)
    assert SECRET not in capsys.readouterr().out


def test_a_database_that_is_away_raises() -> None:
    with pytest.raises(psycopg.OperationalError):
        operator("postgresql://nobody@127.0.0.1:1/none").run({"command": "stats"})
