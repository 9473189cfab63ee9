"""What stands in template.yaml is true of the code, and the code has what it needs."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import lint
from tidemill.migrations import migrate

from local import needs
from tests.deploy.words import permissions, words

ROOT = Path(__file__).parents[2]
FUNCTIONS = ["absorb", "alarm", "console", "consume", "drain", "intake", "migrate", "relay", "replay", "schedule"]

Properties = dict[str, dict[str, Any]]


def resources(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [resource["Properties"] for resource in template["Resources"].values() if resource["Type"] == kind]


@pytest.mark.parametrize("path", ["template.yaml", "infra/database.yaml"])
def test_a_template_lints(path: str) -> None:
    assert [str(fault) for fault in lint((ROOT / path).read_text("utf-8"))] == []


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


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_states_what_becomes_of_a_failed_asynchronous_invocation(translated: dict[str, Any], name: str) -> None:
    """B83"""
    [one] = [
        one
        for one in resources(translated, "AWS::Lambda::EventInvokeConfig")
        if one["FunctionName"] == {"Ref": f"{name.capitalize()}Function"}
    ]
    # An alarm that Telegram did not take comes again; of all others the next minute brings another.
    expected = (2, 3600) if name == "alarm" else (0, 60)
    assert (one["MaximumRetryAttempts"], one["MaximumEventAgeInSeconds"]) == expected


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


def test_no_more_drains_are_woken_than_may_run(functions: Properties) -> None:
    most = functions["schedule"]["Environment"]["Variables"]["DRAIN_CONCURRENCY"]
    assert most == functions["drain"]["ReservedConcurrentExecutions"]["Fn::If"][1]


def test_the_way_in_is_throttled_and_its_log_holds_no_secret(translated: dict[str, Any]) -> None:
    [stage] = resources(translated, "AWS::ApiGatewayV2::Stage")
    assert stage["DefaultRouteSettings"] == {
        "ThrottlingRateLimit": {"Ref": "RequestsPerSecond"},
        "ThrottlingBurstLimit": {"Ref": "RequestsBurst"},
    }
    line = json.loads(stage["AccessLogSettings"]["Format"])
    assert {"$context.status", "$context.path", "$context.identity.sourceIp"} <= set(line.values())
    assert not re.search("query|header|authorizer|body", json.dumps(line), re.IGNORECASE)


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
    assert given - read == {"AWS_USE_DUALSTACK_ENDPOINT"}  # which botocore reads


def test_migrations_run_again_when_the_files_change_and_before_any_other_function(template: dict[str, Any]) -> None:
    migrations = template["Resources"]["Migrations"]
    assert migrations["Type"] == "Custom::Migrations"
    assert migrations["Properties"]["ServiceToken"] == {"Fn::GetAtt": ["MigrateFunction", "Arn"]}
    # A layer's ARN ends with its version, and a layer whose content is another is another version.
    assert migrations["Properties"]["Sql"] == {"Ref": "SqlLayer"}
    assert template["Resources"]["SqlLayer"]["Properties"]["ContentUri"] == "sql/"
    for name, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Serverless::Function" and name not in ("MigrateFunction", "AlarmFunction"):
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


def test_the_secret_that_the_stack_makes_has_what_the_shipped_automations_need(template: dict[str, Any]) -> None:
    made = template["Resources"]["SettingsSecret"]["Properties"]["GenerateSecretString"]
    declared = {made["GenerateStringKey"], *json.loads(made["SecretStringTemplate"])}
    paths = f"{ROOT / 'layers/tidemill/python'}:{ROOT / 'layers/automations/python'}"
    sources = needs.ask({"PATH": os.environ["PATH"], "PYTHONPATH": paths})
    secrets = {name for names in sources.values() for name in names}
    assert declared == secrets | {"TELEGRAM_BOT_TOKEN", "TELEGRAM_ALERT_CHAT_ID"}  # which alerts need


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_may_read_exactly_the_secrets_that_it_is_given(
    name: str, functions: Properties, translated: dict[str, Any]
) -> None:
    given = {words(arn) for one, arn in functions[name]["Environment"]["Variables"].items() if one.endswith("_SECRET_ARN")}
    role = translated["Resources"][functions[name]["Role"]["Fn::GetAtt"][0]]["Properties"]
    read = [line.partition(" ") for line in permissions(role)]
    assert {secret for action, _, secret in read if action == "secretsmanager:GetSecretValue"} == given


def test_the_alarm_function_needs_neither_the_database_nor_a_network(functions: Properties) -> None:
    assert "VpcConfig" not in functions["alarm"]
    assert [name for name in functions["alarm"]["Environment"]["Variables"] if name.startswith("DATABASE")] == []
