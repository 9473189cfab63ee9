"""What stands in template.yaml is true, and no more than is needed is allowed."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import lint
from tidemill.consume import MOST_RECEIVES
from tidemill.migrations import migrate
from tidemill.settlement import LONGEST_HIDDEN

ROOT = Path(__file__).parents[2]
FUNCTIONS = ["consume", "drain", "intake", "migrate", "relay", "replay", "schedule"]

Properties = dict[str, dict[str, Any]]


def resources(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [resource["Properties"] for resource in template["Resources"].values() if resource["Type"] == kind]


def test_the_template_lints() -> None:
    assert [str(fault) for fault in lint((ROOT / "template.yaml").read_text("utf-8"))] == []


def test_the_translated_template_lints(translated: dict[str, Any]) -> None:
    assert [str(fault) for fault in lint(json.dumps(translated))] == []


def test_the_linter_sees_a_wrong_runtime_after_translation(translated: dict[str, Any]) -> None:
    wrong = json.dumps(translated).replace('"python3.13"', '"python3.99"')
    assert "python3.99" in str(lint(wrong))


def test_each_folder_of_functions_is_deployed(functions: Properties) -> None:
    assert sorted(path.parent.name for path in ROOT.glob("functions/*/app.py")) == sorted(functions) == FUNCTIONS


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_runs_on_python_313_on_arm64(functions: Properties, name: str) -> None:
    assert (functions[name]["Runtime"], functions[name]["Architectures"]) == ("python3.13", ["arm64"])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_told_its_own_timeout(functions: Properties, name: str) -> None:
    assert functions[name]["Environment"]["Variables"]["FUNCTION_TIMEOUT"] == str(functions[name]["Timeout"])


def test_each_function_states_what_becomes_of_a_failed_asynchronous_invocation(translated: dict[str, Any]) -> None:
    """B83"""
    configured = resources(translated, "AWS::Lambda::EventInvokeConfig")
    assert len(configured) == len(FUNCTIONS)
    for one in configured:
        assert (one["MaximumRetryAttempts"], one["MaximumEventAgeInSeconds"]) == (0, 60)


def test_each_schedule_states_its_retries(translated: dict[str, Any]) -> None:
    """B83"""
    schedules = resources(translated, "AWS::Scheduler::Schedule")
    assert len(schedules) == 3
    for one in schedules:
        assert one["ScheduleExpression"] == "rate(1 minute)"
        assert one["Target"]["RetryPolicy"] == {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60}


@pytest.mark.parametrize("name", ["intake", "drain"])
def test_what_holds_connections_is_bounded(functions: Properties, template: dict[str, Any], name: str) -> None:
    """B80"""
    condition, bound, unbound = functions[name]["ReservedConcurrentExecutions"]["Fn::If"]
    assert (condition, unbound) == (f"Bound{name.capitalize()}", {"Ref": "AWS::NoValue"})
    assert template["Parameters"][bound["Ref"]]["Default"] > 0


def test_no_permission_has_a_wildcard(translated: dict[str, Any]) -> None:
    granted = [
        statement
        for role in resources(translated, "AWS::IAM::Role")
        for policy in role.get("Policies", [])
        for statement in policy["PolicyDocument"]["Statement"]
    ]
    assert granted
    for statement in granted:
        assert "*" not in json.dumps([statement["Action"], statement["Resource"]])


def test_a_function_may_invoke_only_what_it_is_told_to_wake(template: dict[str, Any]) -> None:
    may_wake = {
        (name, statement["Resource"]["Fn::GetAtt"][0])
        for name, resource in template["Resources"].items()
        for policy in resource.get("Properties", {}).get("Policies", [])
        for statement in policy["Statement"]
        if statement["Action"] == "lambda:InvokeFunction"
    }
    told = {
        (name, variables[setting]["Ref"])
        for name, resource in template["Resources"].items()
        for variables in [resource.get("Properties", {}).get("Environment", {}).get("Variables", {})]
        for setting in ("DRAIN_FUNCTION", "RELAY_FUNCTION")
        if setting in variables
    }
    assert (
        may_wake
        == told
        == {
            ("IntakeFunction", "DrainFunction"),
            ("ScheduleFunction", "DrainFunction"),
            ("ReplayFunction", "DrainFunction"),
            ("ReplayFunction", "DrainFunction"),
            ("DrainFunction", "RelayFunction"),
            ("ConsumeFunction", "RelayFunction"),
        }
    )


def test_the_queue_hides_a_message_for_six_times_as_long_as_its_function_runs(translated: dict[str, Any]) -> None:
    """B95"""
    [mapping] = resources(translated, "AWS::Lambda::EventSourceMapping")
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["EventSourceArn"] == {"Fn::GetAtt": ["JobsQueue", "Arn"]}
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": {"Ref": "ConsumeConcurrency"}}
    queue = translated["Resources"]["JobsQueue"]["Properties"]
    consume = translated["Resources"][mapping["FunctionName"]["Ref"]]["Properties"]
    assert queue["VisibilityTimeout"] >= 6 * consume["Timeout"]
    assert LONGEST_HIDDEN + consume["Timeout"] < 12 * 3600  # what SQS allows from the receipt


def test_a_message_that_nobody_could_run_is_kept_for_a_person(translated: dict[str, Any]) -> None:
    queue, dead = (translated["Resources"][name]["Properties"] for name in ("JobsQueue", "JobsDeadLetterQueue"))
    assert queue["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::GetAtt": ["JobsDeadLetterQueue", "Arn"]},
        "maxReceiveCount": MOST_RECEIVES,
    }
    assert queue["MessageRetentionPeriod"] == dead["MessageRetentionPeriod"] == 14 * 86400


def test_the_relay_may_send_only_to_targets(template: dict[str, Any]) -> None:
    """Those of the stack, or those that a parameter names."""
    [policy] = template["Resources"]["RelayFunction"]["Properties"]["Policies"]
    granted = {
        str(one["Resource"]) for one in policy["Statement"] if one["Action"] in ("sqs:SendMessage", "events:PutEvents")
    }
    assert len(granted) == 3
    for resource in granted:
        assert "JobsQueue" in resource or "event-bus/${AWS::StackName}" in resource


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_log_is_kept_for_a_stated_time(functions: Properties, template: dict[str, Any], name: str) -> None:
    group = template["Resources"][functions[name]["LoggingConfig"]["LogGroup"]["Ref"]]["Properties"]
    assert group["LogGroupName"]["Fn::Sub"] == f"/aws/lambda/{functions[name]['FunctionName']['Fn::Sub']}"
    assert group["RetentionInDays"] == {"Ref": "LogRetentionDays"}


def sources() -> Iterator[str]:
    for folder in ("functions", "layers/tidemill/python"):
        yield from (path.read_text("utf-8") for path in (ROOT / folder).rglob("*.py"))


def test_every_setting_of_the_template_is_read_by_the_code(functions: Properties) -> None:
    read = set(re.findall(r'"([A-Z][A-Z_]+)"', "\n".join(sources())))
    given = {name for one in functions.values() for name in one["Environment"]["Variables"]}
    assert given - read == set()


def test_migrations_run_again_when_the_files_change_and_before_any_other_function(template: dict[str, Any]) -> None:
    migrations = template["Resources"]["Migrations"]
    assert migrations["Type"] == "Custom::Migrations"
    assert migrations["Properties"]["ServiceToken"] == {"Fn::GetAtt": ["MigrateFunction", "Arn"]}
    # A layer's ARN ends with its version, and a layer whose content is another is another version.
    assert migrations["Properties"]["Sql"] == {"Ref": "SqlLayer"}
    assert template["Resources"]["SqlLayer"]["Properties"]["ContentUri"] == "sql/"
    for name, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Serverless::Function" and name != "MigrateFunction":
            assert resource["DependsOn"] == "Migrations"


def test_the_migrate_function_has_time_to_wait_for_another_run_and_to_answer(
    functions: Properties, template: dict[str, Any]
) -> None:
    waits = inspect.signature(migrate).parameters["wait"].default
    service_timeout = template["Resources"]["Migrations"]["Properties"]["ServiceTimeout"]
    assert waits < functions["migrate"]["Timeout"] < service_timeout


def test_no_secret_stands_in_the_template(functions: Properties) -> None:
    for one in functions.values():
        for name, value in one["Environment"]["Variables"].items():
            assert not re.search("SECRET|TOKEN|PASSWORD", name.removesuffix("_SECRET_ARN")), value
