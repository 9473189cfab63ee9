"""functions/intake: what fails between the request and the answer. 202 means stored, and anything else: send it again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import psycopg
import pytest
from tidemill.db import Database
from tidemill.errors import ConfigurationError
from tidemill.source import Source
from tidemill.wire import Connection

from tests.conftest import ROOT
from tests.functions.intake.conftest import Call, MakeEvent, delivery, log_line, metrics, rows, v2, written_lines
from tests.functions.intake.direct import FaultyDatabase, intake
from tests.functions.intake.sources import SECRETS


def answered(answer: dict[str, Any]) -> tuple[int, Any]:
    return answer["statusCode"], json.loads(answer["body"])


@pytest.mark.parametrize(
    "trigger",
    [
        "trigger refuse before insert on jobs",
        "trigger refuse after insert on jobs",
        "constraint trigger refuse after insert on jobs deferrable initially deferred",
    ],
    ids=["before the job", "after the job", "at commit"],
)
def test_a_fault_in_storing_stores_nothing_and_the_next_try_all(
    call: Call, make: MakeEvent, connection: Connection, trigger: str
) -> None:
    """B26."""
    connection.execute("create function refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$")
    try:
        connection.execute(f"create {trigger} for each row execute function refuse()")  # type: ignore[arg-type]
        assert call(delivery({"orders": [1]}, "d", make=make)).status == 503
    finally:
        connection.execute("drop function refuse cascade")
    assert rows(connection, "id", "events") == []
    assert call(delivery({"orders": [1]}, "d", make=make)).body["jobs"] == 1


def test_jobs_that_the_database_refuses_by_a_rule_are_a_route_error(call: Call, connection: Connection) -> None:
    connection.execute("alter table jobs add constraint few check (kind <> 'limited')")
    try:
        assert call(delivery({"orders": [1], "options": {}}, "d")).body["jobs"] == 0
    finally:
        connection.execute("alter table jobs drop constraint few")
    ((error,),) = rows(connection, "route_error", "events")
    assert error.startswith('CheckViolation: new row for relation "jobs" violates check constraint "few"')
    assert rows(connection, "id", "jobs") == []


def test_a_drain_is_asked_for_when_there_is_new_work(database_url: str) -> None:
    woken: list[str] = []
    one = intake(Database(database_url), lambda: woken.append("woken"))
    for event in (delivery({"orders": [1]}, "d"), delivery({"orders": [1]}, "d"), delivery({}), delivery({"raise": "no"})):
        assert one.handle(event, None)["statusCode"] == 202
    assert woken == ["woken"]


def test_a_drain_that_cannot_be_woken_changes_nothing(
    database_url: str, make: MakeEvent, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    """B27."""

    def throttled() -> None:
        raise ConnectionError("throttled")

    answer = intake(Database(database_url), throttled).handle(delivery({"orders": [1]}, make=make), None)
    assert answer["statusCode"] == 202
    assert rows(connection, "status", "jobs") == [("pending",)]
    assert [line["error"] for line in written_lines(capsys.readouterr().out) if "error" in line] == ["ConnectionError"]


def test_a_connection_that_died_while_the_container_slept_is_remade(database_url: str, connection: Connection) -> None:
    """B77."""
    database = Database(database_url)
    one = intake(database)
    assert one.handle(delivery({}), None)["statusCode"] == 202
    pid = database.connection().info.backend_pid
    connection.execute("select pg_terminate_backend(%s, 5000)", (pid,))
    assert one.handle(delivery({"orders": [1]}), None)["statusCode"] == 202
    assert database.connection().info.backend_pid != pid
    assert len(rows(connection, "id", "events")) == 2


def test_an_answer_that_was_lost_is_found_again_by_the_key(database_url: str, connection: Connection) -> None:
    """B79: it was committed; the second run finds its own work, and counts no redelivery."""
    database = FaultyDatabase(database_url, "receive", after=True)
    answer = intake(database).handle(delivery({"orders": [1], "payload": 2}, "d"), None)
    ((event_id, *counts),) = rows(connection, "id, redeliveries, mismatches, redelivered_at", "events")
    assert answered(answer) == (202, {"id": event_id, "jobs": 2})
    assert counts == [0, 0, None]
    assert len(rows(connection, "id", "jobs")) == 2


def test_a_statement_that_was_lost_on_its_way_is_run_again_by_the_key(database_url: str, connection: Connection) -> None:
    answer = intake(FaultyDatabase(database_url, "receive")).handle(delivery({"orders": [1]}, "d"), None)
    assert answered(answer) == (202, {"id": rows(connection, "id", "events")[0][0], "jobs": 1})


def test_an_answer_that_was_lost_without_a_key_is_to_be_sent_again(database_url: str, connection: Connection) -> None:
    """Nobody can tell whether it was stored; to run it again could double it."""
    database = FaultyDatabase(database_url, "receive", after=True)
    assert intake(database).handle(delivery({"orders": [1]}), None)["statusCode"] == 503
    assert len(rows(connection, "id", "events")) == 1


def test_a_database_that_stays_away_is_a_503(database_url: str, connection: Connection) -> None:
    database = FaultyDatabase(database_url, "receive", times=2)
    answer = intake(database).handle(delivery({"orders": [1]}, "d"), None)
    assert (answer["statusCode"], "Retry-After" in answer["headers"]) == (503, True)
    assert rows(connection, "id", "events") == []


def test_a_database_that_cannot_be_reached_is_tried_once() -> None:
    """A connect may take five seconds until it fails; nothing was sent, so there is nothing to find again."""
    tried: list[str] = []

    def connect(url: str) -> Connection:
        tried.append(url)
        raise psycopg.OperationalError("timeout expired")

    assert intake(Database("postgresql://nowhere", connect)).handle(delivery({}, "d"), None)["statusCode"] == 503
    assert len(tried) == 1


def test_a_database_that_only_reads_is_a_503(call: Call, environment: pytest.MonkeyPatch, database_url: str) -> None:
    """B79."""
    environment.setenv(
        "DATABASE_URL", f"{database_url}{'&' if '?' in database_url else '?'}options=-cdefault_transaction_read_only%3Don"
    )
    assert call(delivery({}, "d")).status == 503


def test_a_database_that_is_away_while_a_route_runs_is_no_fault_of_the_route(
    database_url: str, connection: Connection
) -> None:
    database = FaultyDatabase(database_url, "event_number")
    one = intake(database)
    assert one.handle(delivery({"id": True}, "d"), None)["statusCode"] == 503
    assert rows(connection, "id", "events") == []
    assert one.handle(delivery({"id": True}, "d"), None)["statusCode"] == 202
    assert rows(connection, "route_error", "events") == [(None,)]


def test_whoever_is_told_of_a_source_without_its_secret_is_told_once(database_url: str) -> None:
    told: list[Source] = []
    settings = {**SECRETS, "PLAIN_WEBHOOK_SECRET": ""}
    one = intake(Database(database_url), settings=settings, on_unconfigured=told.append)
    for _ in range(2):
        assert one.handle(v2("/hooks/plain", b"{}"), None)["statusCode"] == 503
    assert [source.name for source in told] == ["plain"]


def test_a_largest_body_that_is_no_number_stops_the_start(database_url: str) -> None:
    with pytest.raises(ConfigurationError, match="MAX_BODY_BYTES must be a number"):
        intake(Database(database_url), settings={"MAX_BODY_BYTES": "1 MiB"})


def test_an_outage_is_told_with_its_reason_and_no_password(
    call: Call, environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.setenv("DATABASE_URL", "postgresql://tide:hush-hush@127.0.0.1:1/none")
    call(delivery({}, "d", X_Correlation_Id="c-9"))
    (line,) = [line for line in written_lines(capsys.readouterr().out) if line.get("level") == "ERROR"]
    assert (line["error"], line["correlation_id"]) == ("OperationalError", "c-9")
    assert "port 1" in line["reason"]


def test_the_intake_loads_nothing_that_it_does_not_need(database_url: str) -> None:
    """boto3 and requests alone would double a cold start."""
    code = (
        "import sys; from functions.intake.app import handler;"
        "print(handler({'path': '/health', 'httpMethod': 'GET'}, None)['statusCode'], [one for one in sys.modules if one in"
        " ('boto3', 'botocore', 'requests', 'urllib3', 'aws_lambda_powertools', 'cryptography', 'typer', 'rich')])"
    )
    path = os.pathsep.join(str(ROOT / part) for part in ("layers/tidemill/python", "layers/automations/python", "."))
    environment = {**os.environ, "PYTHONPATH": path, "DATABASE_URL": database_url, **SECRETS}
    environment |= {"AUTOMATIONS": "tests.functions.intake.sources"}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.stdout, ended.stderr) == ("200 []\n", "")


def test_a_refusal_by_the_largest_body_is_counted(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    call(delivery(b" " * (1024 * 1024 + 1)))
    written = capsys.readouterr().out
    assert metrics(written) == [("EventsRejected", "shop")]
    assert log_line(written, "refused")["status"] == 413
