"""tidemill retry and replay of many: a look and a question at a terminal, then part after part."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tidemill.cli import bulk
from tidemill.cli.target import Command, Here
from tidemill.wire import Connection

from tests.functions.calling import Terminal, add_failed, answer, call


def statuses(connection: Connection) -> dict[str, int]:
    return dict(connection.execute("select status, count(*) from jobs group by status").fetchall())


def test_many_are_changed_at_a_terminal_after_a_look_and_a_yes(operated: object, connection: Connection) -> None:
    for _ in range(3):
        add_failed(connection)
    terminal = Terminal("retry", "--kind", "order.announce", "--by", "ann")
    terminal.wait_for("3 failed jobs match. Retry them? [y/N]: ")
    assert statuses(connection) == {"failed": 3}
    terminal.type("y\n")
    assert terminal.end() == 0
    assert statuses(connection) == {"pending": 3}
    assert "changed" in terminal.text


def test_a_no_at_the_terminal_changes_nothing(operated: object, connection: Connection) -> None:
    add_failed(connection)
    terminal = Terminal("retry", "--kind", "order.announce")
    terminal.wait_for("[y/N]: ")
    terminal.type("\n")
    assert terminal.end() == 1
    assert "nothing was changed" in terminal.text
    assert statuses(connection) == {"failed": 1}
    assert connection.execute("select from operations").fetchall() == []


def test_where_nothing_matches_nothing_is_asked(operated: object) -> None:
    terminal = Terminal("replay", "--unrouted")
    assert terminal.end() == 0
    assert "[y/N]" not in terminal.text


def test_with_yes_nothing_is_asked(operated: object, connection: Connection) -> None:
    add_failed(connection)
    terminal = Terminal("retry", "--kind", "order.announce", "--yes")
    assert terminal.end() == 0
    assert "[y/N]" not in terminal.text
    assert statuses(connection) == {"pending": 1}


def test_a_job_that_is_named_is_not_asked_about(operated: object, connection: Connection) -> None:
    assert Terminal("retry", str(add_failed(connection))).end() == 0


def test_a_bulk_command_says_how_far_it_is(operated: pytest.MonkeyPatch, connection: Connection) -> None:
    operated.setattr(bulk, "PART", {"retry": 2, "replay": 2})
    for kind in ("order.announce", "gone", "order.announce", "order.announce", "order.announce"):
        add_failed(connection, kind=kind)
    result = call("retry", "--since", "1h", "--json")
    assert result.stderr.splitlines() == ["2 failed jobs so far, 1 changed", "4 failed jobs so far, 3 changed"]
    assert json.loads(result.stdout) == {
        "ok": True, "matched": 5, "changed": 4,
        "refused": [{"id": 2, "code": "conflict", "message": "no handler for kind 'gone'"}],
    }  # fmt: skip
    assert len(connection.execute("select from operations").fetchall()) == 3


def test_the_parts_of_a_replay_are_added_up(operated: pytest.MonkeyPatch, connection: Connection) -> None:
    operated.setattr(bulk, "PART", {"retry": 2, "replay": 2})
    connection.execute(
        "insert into events (source, body)"
        " select 'shop', convert_to('{\"number\": ' || n || '}', 'UTF8') from generate_series(1, 5) n"
    )
    assert answer("replay", "--source", "shop", "--dry-run") == {
        "ok": True, "matched": 5, "changed": 0, "refused": [], "jobs": {"created": 5},
    }  # fmt: skip
    assert answer("replay", "--source", "shop")["jobs"] == {"created": 5}
    assert answer("replay", "--source", "shop")["jobs"] == {"kept": 5}


def test_of_many_refusals_a_thousand_are_named(operated: object, connection: Connection) -> None:
    connection.execute(
        "insert into jobs (kind, status, finished_at) select 'gone', 'failed', now() from generate_series(1, 1200)"
    )
    found = answer("retry", "--kind", "gone")
    assert (found["matched"], len(found["refused"]), found["refused_more"]) == (1200, 1000, 200)


def test_a_bulk_command_that_is_cut_off_says_what_it_has_done(operated: pytest.MonkeyPatch, connection: Connection) -> None:
    operated.setattr(bulk, "PART", {"retry": 2, "replay": 2})
    for _ in range(4):
        add_failed(connection)
    run, parts = Here.run, []

    def interrupted(here: Here, command: Command) -> dict[str, Any]:
        parts.append(command)
        if len(parts) == 2:
            raise KeyboardInterrupt
        return run(here, command)

    operated.setattr(Here, "run", interrupted)
    result = call("retry", "--kind", "order.announce")
    assert result.exit_code == 130
    assert "stopped after 2, of which 2 are changed; the same command goes on" in result.stderr
    assert statuses(connection) == {"pending": 2, "failed": 2}
