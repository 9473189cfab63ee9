"""functions/replay, as Lambda calls it."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from tidemill.wire import Connection

from functions.replay.app import handler


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, database_url: str) -> pytest.MonkeyPatch:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("AUTOMATIONS", "tests.functions.operated")
    monkeypatch.setenv("SHOP_WEBHOOK_SECRET", "hush-hush-hush")
    return monkeypatch


def run(command: object) -> dict[str, Any]:
    answer = json.loads(json.dumps(handler(command, None), allow_nan=False))
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize("event", [None, [], "stats", 5, {}, {"command": "drop"}, {"command": ["stats"]}])
def test_what_is_no_command_is_answered(environment: object, event: object) -> None:
    """B75"""
    answer = run(event)
    assert (answer["ok"], answer["error"]["code"], answer["error"]["field"]) == (False, "invalid", "command")


def test_a_dead_job_is_found_shown_retried_and_given_up(environment: object, connection: Connection) -> None:
    connection.execute(
        "insert into jobs (kind, status, finished_at, attempts, error_class, last_error, key)"
        " values ('order.announce', 'failed', now(), 8, 'KeyError', 'number', '17')"
    )
    [listed] = run({"command": "failed"})["jobs"]
    job = listed["id"]
    assert run({"command": "show", "job": job})["job"]["last_error"] == "number"
    assert run({"command": "retry", "job": job, "by": "ann"})["ok"]
    assert run({"command": "stats"})["jobs"]["pending"] == 1
    assert run({"command": "retry", "job": job})["error"]["code"] == "conflict"
    assert run({"command": "cancel", "job": job, "by": "bob"})["ok"]
    done = connection.execute("select by, command from operations order by id").fetchall()
    assert done == [("ann", "retry"), ("bob", "cancel")]


def test_an_event_is_routed_again_by_the_loaded_automations(environment: object, connection: Connection) -> None:
    rows = connection.execute(
        "insert into events (source, body, route_error) values ('shop', '{\"number\": 17}', 'KeyError') returning id"
    ).fetchall()
    [job] = run({"command": "replay", "event": rows[0][0]})["jobs"]
    assert job["outcome"] == "created"
    assert run({"command": "show", "job": job["id"]})["job"]["payload"] == {"number": 17}


def test_a_limit_is_paused_and_resumed(environment: object) -> None:
    assert run({"command": "pause", "limit": "telegram", "for": 600})["ok"]
    assert run({"command": "stats"})["limits"][0]["paused_until"] is not None
    assert run({"command": "resume", "limit": "telegram"})["ok"]
    assert run({"command": "stats"})["limits"][0]["paused_until"] is None


def test_a_database_that_is_away_is_an_error_of_the_function(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(psycopg.OperationalError):
        handler({"command": "stats"}, None)
