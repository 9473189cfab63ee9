"""tidemill --stack: through Lambda's API, with the real replay function behind it."""

from __future__ import annotations

import json

import pytest
from tidemill.cli import target
from tidemill.wire import Connection

from tests.functions.calling import add_failed, answer, call, run
from tests.functions.invoking import Lambda


@pytest.mark.parametrize(("option", "value"), [("--stack", "prod"), ("--function", "prod-replay")])
def test_a_stack_is_reached_through_its_function(
    lambda_api: Lambda, connection: Connection, option: str, value: str
) -> None:
    job = add_failed(connection)
    assert answer("retry", str(job), option, value, "--by", "ann")["outcome"] == "redriven"
    assert lambda_api.commands == [{"command": "retry", "job": job, "by": "ann"}]


def test_a_stack_goes_before_the_database_of_the_environment(lambda_api: Lambda, operated: pytest.MonkeyPatch) -> None:
    answer("stats", "--stack", "prod")
    assert len(lambda_api.commands) == 1


def test_a_refusal_of_the_function_is_one_of_the_command(lambda_api: Lambda) -> None:
    result = call("retry", "99", "--stack", "prod")
    assert (result.exit_code, result.stderr.strip()) == (1, "there is no job 99")


def test_a_function_that_failed_is_said(lambda_api: Lambda) -> None:
    lambda_api.break_with = "Task timed out after 60.00 seconds"
    result = call("stats", "--stack", "prod")
    assert result.exit_code == 3 and "prod-replay failed: Task timed out after 60.00 seconds" in result.stderr


def test_a_throttled_command_is_given_again(lambda_api: Lambda, operated: pytest.MonkeyPatch) -> None:
    operated.setattr(target, "THROTTLED_PAUSES", (0, 0))
    lambda_api.throttle = 2
    assert answer("stats", "--stack", "prod")["ok"]
    assert len(lambda_api.commands) == 1


def test_a_command_that_stays_throttled_is_said(lambda_api: Lambda, operated: pytest.MonkeyPatch) -> None:
    operated.setattr(target, "THROTTLED_PAUSES", (0, 0))
    lambda_api.throttle = 3
    result = call("stats", "--stack", "prod")
    assert result.exit_code == 3 and "Lambda throttles it, and it did not begin" in result.stderr
    assert lambda_api.commands == []


def test_a_function_that_answers_late_is_not_asked_twice(lambda_api: Lambda, operated: pytest.MonkeyPatch) -> None:
    operated.setattr(target, "READ_TIMEOUT", 0.001)
    result = call("stats", "--stack", "prod")
    assert result.exit_code == 3 and "no answer within 0.001 s" in result.stderr
    assert len(lambda_api.commands) <= 1


def test_a_stack_that_is_not_there_is_said(lambda_api: Lambda) -> None:
    result = call("stats", "--stack", "none")
    assert result.exit_code == 3
    assert "invoking none-replay: there is no such function in this account and region" in result.stderr


def test_an_account_without_credentials_is_said(lambda_api: Lambda, operated: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        operated.delenv(name)
    operated.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    operated.setenv("AWS_CONFIG_FILE", "/nowhere")
    result = run("stats", "--stack", "prod")
    assert result.returncode == 3 and "no AWS credentials" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_region_that_nobody_named_is_asked_for(lambda_api: Lambda, operated: pytest.MonkeyPatch) -> None:
    operated.delenv("AWS_REGION")
    operated.setenv("AWS_CONFIG_FILE", "/nowhere")
    result = run("stats", "--stack", "prod", "--json")
    assert result.returncode == 3 and "--region" in result.stderr
    assert result.stdout == ""
    assert json.loads(run("stats", "--stack", "prod", "--json", "--region", "eu-south-1").stdout)["ok"]
