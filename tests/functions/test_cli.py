"""tidemill, as people call it: against a database, and against a deployed stack."""

from __future__ import annotations

import io
import json
from typing import Any

import boto3
import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber
from rich.console import Console
from tidemill import cli, tables
from tidemill.db import Connection
from typer.testing import CliRunner, Result


@pytest.fixture
def operated(monkeypatch: pytest.MonkeyPatch, database_url: str) -> pytest.MonkeyPatch:
    """An environment in which the CLI works on the test's database."""
    for name in ("DRAIN_FUNCTION", "SETTINGS_SECRET_ARN", "DATABASE_SECRET_ARN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("AUTOMATIONS", "tests.functions.operated")
    monkeypatch.setenv("COLUMNS", "200")
    return monkeypatch


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, arguments)


def answer(*arguments: str) -> Any:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def add_failed(connection: Connection, **columns: str) -> int:
    values = {"kind": "order.announce", "status": "failed", "error_class": "KeyError", "last_error": "number", **columns}
    text = (
        f"insert into jobs ({', '.join(values)}, finished_at) values ({', '.join(['%s'] * len(values))}, now()) returning id"
    )
    return int(connection.execute(text, list(values.values())).fetchall()[0][0])  # type: ignore[call-overload]


def test_failed_jobs_are_a_table_for_people(operated: object, connection: Connection) -> None:
    job = add_failed(connection)
    result = call("failed")
    assert result.exit_code == 0
    [row] = [line for line in result.stdout.splitlines() if "KeyError" in line]
    assert [str(job), "order.announce"] == [cell.strip() for cell in row.strip("│").split("│")][:2]


def test_json_is_the_answer_and_nothing_else(operated: object, connection: Connection) -> None:
    job = add_failed(connection)
    assert [one["id"] for one in answer("failed", "--limit", "1", "--kind", "order.announce")["jobs"]] == [job]
    assert answer("stats")["jobs"]["failed"] == 1


def test_each_command_reaches_the_operator(operated: object, connection: Connection) -> None:
    job = add_failed(connection)
    assert answer("retry", str(job), "--by", "ann")["outcome"] == "redriven"
    assert answer("show", str(job))["job"]["status"] == "pending"
    assert answer("cancel", str(job), "--by", "ann")["status"] == "discarded"
    assert answer("retry", str(job), "--force", "--by", "ann")["copy_of"] == job
    assert answer("pause", "telegram", "--for", "600", "--by", "ann")["limit"] == "telegram"
    assert answer("resume", "telegram", "--by", "ann")["limit"] == "telegram"
    rows = connection.execute("insert into events (source, body) values ('shop', '{\"number\": 1}') returning id").fetchall()
    event = rows[0][0]
    assert answer("replay", str(event), "--by", "ann")["jobs"][0]["outcome"] == "created"
    assert answer("show", "--event", str(event))["event"]["body"] == '{"number": 1}'
    done = connection.execute("select command from operations where by = 'ann' order by id").fetchall()
    assert [name for (name,) in done] == ["retry", "cancel", "retry", "pause", "resume", "replay"]


def test_many_are_retried_by_filters_after_a_dry_run(operated: object, connection: Connection) -> None:
    add_failed(connection)
    gone = add_failed(connection, kind="gone")
    filters = ("retry", "--error-class", "KeyError", "--since", "2h")
    assert answer(*filters, "--dry-run")["changed"] == 0
    result = answer(*filters)
    assert (result["matched"], result["changed"], result["refused"][0]["id"]) == (2, 1, gone)


def test_events_are_replayed_by_filters(operated: object, connection: Connection) -> None:
    connection.execute("insert into events (source, body, route_error) values ('shop', '{\"number\": 1}', 'KeyError')")
    assert answer("replay", "--unrouted", "--source", "shop", "--dry-run")["jobs"] == {"created": 1}
    assert answer("replay", "--unrouted", "--since", "2h", "--until", "1m")["matched"] == 0


def test_who_gave_a_command_is_the_user_unless_said(operated: pytest.MonkeyPatch, connection: Connection) -> None:
    operated.setenv("LOGNAME", "carol")
    answer("retry", str(add_failed(connection)))
    assert connection.execute("select by from operations").fetchall() == [("carol",)]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["retry", "99"], 1),
        (["show", "99"], 1),
        (["cancel", "99"], 1),
        (["retry"], 2),
        (["retry", "12abc"], 2),
        (["retry", "--since", "yesterday"], 2),
        (["failed", "--after", "%%"], 2),
        (["frobnicate"], 2),
        (["stats", "--stack", "a", "--function", "b"], 2),
    ],
)
def test_the_exit_code_tells_a_refusal_from_nonsense(operated: object, arguments: list[str], code: int) -> None:
    assert call(*arguments).exit_code == code


def test_a_refusal_says_why(operated: object) -> None:
    assert "there is no job 99" in call("retry", "99").stderr
    assert json.loads(call("retry", "99", "--json").stdout)["error"]["code"] == "not_found"


def test_a_command_with_nowhere_to_go_is_refused(operated: pytest.MonkeyPatch) -> None:
    operated.delenv("DATABASE_URL")
    result = call("stats")
    assert result.exit_code == 2 and "--stack" in result.stderr


@pytest.mark.parametrize(
    ("password", "error"),
    [("hush-hush-hush", "OperationalError"), ("hush-hush-hush%ZZ", "invalid percent-encoded token")],
)
def test_a_database_that_is_away_is_said_without_its_password(
    operated: pytest.MonkeyPatch, password: str, error: str
) -> None:
    operated.setenv("DATABASE_URL", f"postgresql://ann:{password}@127.0.0.1:1/none")
    result = call("stats")
    assert result.exit_code == 1 and error in result.stderr
    assert "hush" not in result.output


def test_a_database_without_tables_says_what_to_do(operated: pytest.MonkeyPatch, postgres: Any) -> None:
    operated.setenv("DATABASE_URL", postgres.url())
    result = call("stats")
    assert result.exit_code == 1 and "tidemill migrate" in result.stderr


def test_automations_that_cannot_be_loaded_are_named(operated: pytest.MonkeyPatch) -> None:
    operated.setenv("AUTOMATIONS", "no_such_module")
    result = call("stats")
    assert result.exit_code == 1 and "no_such_module" in result.stderr


class Aws:
    """Stubbed clients: CloudFormation knows the stack `prod`, and the function answers what it is told to."""

    def __init__(self, answer: object, **failed: str) -> None:
        keys = {"region_name": "eu-west-1", "aws_access_key_id": "x", "aws_secret_access_key": "x"}
        self._clients = {service: boto3.client(service, **keys) for service in ("lambda", "cloudformation")}  # type: ignore[call-overload]
        body = json.dumps(answer).encode()
        self.payloads: list[Any] = []
        stub = Stubber(self._clients["lambda"])
        stub.add_response("invoke", {"StatusCode": 200, "Payload": StreamingBody(io.BytesIO(body), len(body)), **failed})
        stub.activate()
        self._clients["lambda"].meta.events.register("before-parameter-build.lambda.Invoke", self._note)
        stub = Stubber(self._clients["cloudformation"])
        detail = {
            "LogicalResourceId": "ReplayFunction", "PhysicalResourceId": "prod-replay", "LastUpdatedTimestamp": 0,
            "ResourceType": "AWS::Lambda::Function", "ResourceStatus": "CREATE_COMPLETE",
        }  # fmt: skip
        stub.add_response(
            "describe_stack_resource",
            {"StackResourceDetail": detail},
            {"StackName": "prod", "LogicalResourceId": "ReplayFunction"},
        )
        stub.activate()

    def __call__(self, service: str) -> Any:
        return self._clients[service]

    def _note(self, params: dict[str, Any], **_: object) -> None:
        self.payloads.append((params["FunctionName"], json.loads(params["Payload"])))


@pytest.mark.parametrize(("option", "value"), [("--stack", "prod"), ("--function", "prod-replay")])
def test_a_stack_is_reached_through_its_function(operated: pytest.MonkeyPatch, option: str, value: str) -> None:
    aws = Aws({"ok": True, "job": 42, "outcome": "redriven", "changed": 1})
    operated.setattr(cli, "aws_client", aws)
    assert answer("retry", "42", option, value, "--by", "ann")["outcome"] == "redriven"
    assert aws.payloads == [("prod-replay", {"command": "retry", "job": 42, "by": "ann"})]


def test_a_function_that_failed_is_said(operated: pytest.MonkeyPatch) -> None:
    operated.setattr(
        cli, "aws_client", Aws({"errorType": "OperationalError", "errorMessage": "away"}, FunctionError="Unhandled")
    )
    result = call("stats", "--stack", "prod")
    assert result.exit_code == 1 and "prod-replay failed: away" in result.stderr


def test_what_aws_refuses_is_said(operated: pytest.MonkeyPatch) -> None:
    client = boto3.client("cloudformation", region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")
    stub = Stubber(client)
    stub.add_client_error("describe_stack_resource", "ValidationError", "Stack 'prod' does not exist")
    stub.activate()
    operated.setattr(cli, "aws_client", lambda service: client)
    result = call("stats", "--stack", "prod")
    assert result.exit_code == 1 and "Stack 'prod' does not exist" in result.stderr


def test_of_many_jobs_each_column_tells_something(operated: object, connection: Connection) -> None:
    add_failed(connection, key="17")
    assert "event_id" not in call("failed").stdout
    assert "jobs  none" in call("failed", "--kind", "other").stdout


def test_what_came_from_outside_does_nothing_to_a_terminal() -> None:
    out = io.StringIO()
    tables.show(Console(file=out, width=200), {"note": "[red]x[/nope]\x1b[2J", "jobs": [{"error": "\x1b]0;evil\x07[bold]"}]})
    assert "\x1b" not in out.getvalue() and "\x07" not in out.getvalue()
    assert "[red]x[/nope]\\x1b[2J" in out.getvalue() and "[bold]" in out.getvalue()
