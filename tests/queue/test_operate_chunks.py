"""retry and replay of many, a part at a time: `limit` and `after`, as the command line gives them."""

from __future__ import annotations

from typing import Any

import pytest
from tidemill.operate import Operator
from tidemill.wire import Connection

from tests.queue.operating import add_event, add_job, body, one, operations, operator, shop


def in_parts(operating: Operator, command: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers until there is nothing left; at most ten."""
    answers: list[dict[str, Any]] = []
    after = None
    while (not answers or after) and len(answers) < 10:
        answers.append(operating.run({**command, "after": after}))
        after = answers[-1]["after"]
    return answers


def test_a_retry_goes_on_where_the_part_before_it_stopped(database_url: str, connection: Connection) -> None:
    for kind in ("order.total", "order.total", "gone", "order.total", "order.total"):
        add_job(connection, kind, "failed")
    answers = in_parts(operator(database_url), {"command": "retry", "until": "2100-01-01T00:00Z", "limit": 2})
    assert [(answer["matched"], answer["changed"]) for answer in answers] == [(2, 2), (2, 1), (1, 1)]
    assert one(connection, "select count(*) from jobs where status = 'pending'") == 4
    assert [outcome["changed"] for _, _, _, outcome in operations(connection)] == [2, 1, 1]


def test_a_dry_run_in_parts_counts_all_and_changes_nothing(database_url: str, connection: Connection) -> None:
    for _ in range(5):
        add_job(connection, status="failed")
    command = {"command": "retry", "kind": "order.total", "limit": 2, "dry_run": True}
    assert [answer["matched"] for answer in in_parts(operator(database_url), command)] == [2, 2, 1]
    assert operations(connection) == []


def test_what_fails_again_between_two_parts_is_not_met_twice(database_url: str, connection: Connection) -> None:
    """A job that fails at once would else be retried for ever."""
    for _ in range(3):
        add_job(connection, status="failed")
    operating = operator(database_url)
    command = {"command": "retry", "kind": "order.total", "limit": 2}
    first = operating.run(command)
    connection.execute("update jobs set status = 'failed', finished_at = now() where status = 'pending'")
    rest = operating.run({**command, "after": first["after"]})
    assert (first["matched"], rest["matched"], rest["after"]) == (2, 1, None)


def test_a_replay_goes_on_where_the_part_before_it_stopped(database_url: str, connection: Connection) -> None:
    for number in range(5):
        add_event(connection, body=body(number))
    operating = operator(database_url, shop())
    first = operating.run({"command": "replay", "source": "shop", "limit": 3})
    add_event(connection, body=body(6))  # came later: it is no business of this replay
    rest = operating.run({"command": "replay", "source": "shop", "limit": 3, "after": first["after"]})
    assert [(part["matched"], part["changed"], part["jobs"]) for part in (first, rest)] == [
        (3, 3, {"created": 6}), (2, 2, {"created": 4}),
    ]  # fmt: skip
    assert rest["after"] is None


def test_without_a_limit_there_is_no_cursor(database_url: str, connection: Connection) -> None:
    add_job(connection, status="failed")
    assert "after" not in operator(database_url).run({"command": "retry", "kind": "order.total"})
    assert "after" not in operator(database_url).run({"command": "replay", "source": "shop"})


@pytest.mark.parametrize(
    ("command", "field"),
    [
        ({"command": "retry", "job": 1, "limit": 5}, "limit"),
        ({"command": "replay", "event": 1, "limit": 5}, "limit"),
        ({"command": "retry", "kind": "a", "limit": 0}, "limit"),
        ({"command": "retry", "kind": "a", "after": "%%"}, "after"),
        ({"command": "retry", "kind": "a", "after": "e30="}, "after"),
        ({"command": "retry", "kind": "a", "after": 5}, "after"),
        ({"command": "replay", "source": "a", "after": "W10="}, "after"),
        ({"command": "tail", "after": "%%"}, "after"),
    ],
)
def test_a_part_that_makes_no_sense_is_named(database_url: str, command: dict[str, Any], field: str) -> None:
    error = operator(database_url).run(command)["error"]
    assert (error["code"], error["field"]) == ("invalid", field)


def test_the_cursor_of_one_command_is_none_of_another(database_url: str, connection: Connection) -> None:
    for _ in range(2):
        add_job(connection, status="failed")
    operating = operator(database_url)
    after = operating.run({"command": "retry", "kind": "order.total", "limit": 1})["after"]
    for other in ({"command": "replay", "source": "shop"}, {"command": "tail"}):
        assert operating.run({**other, "after": after})["error"]["field"] == "after"
