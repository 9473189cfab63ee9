"""Each function may do what stands here, and nothing else: the whole list, compared with the template after translation."""

from __future__ import annotations

from typing import Any

import pytest

from tests.deploy.words import permissions, words

SETTINGS = "secretsmanager:GetSecretValue <SettingsSecret> | <SettingsSecretArn>"
DATABASE = [
    "secretsmanager:GetSecretValue <Database.Outputs.SecretArn> | <DatabaseSecretArn>",
    "if Iam: rds-db:connect arn:<AWS::Partition>:rds-db:<AWS::Region>:<AWS::AccountId>:dbuser"
    ":<Database.Outputs.ResourceId> | <DatabaseResourceId>/<Database.Outputs.User> | <DatabaseUser>",
]
WAKE_DRAINS = "lambda:InvokeFunction <DrainFunction.Arn>"
WAKE_RELAY = "lambda:InvokeFunction <RelayFunction.Arn>"


def receive(queue: str) -> list[str]:
    actions = ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes", "ChangeMessageVisibility")
    return [f"sqs:{action} <{queue}.Arn>" for action in actions]


MAY = {
    "intake": [SETTINGS, *DATABASE, "sqs:SendMessage <ParkingQueue.Arn>", WAKE_DRAINS],
    "absorb": [SETTINGS, *DATABASE, *receive("ParkingQueue"), WAKE_DRAINS],
    "drain": [SETTINGS, *DATABASE, WAKE_RELAY],
    "schedule": [SETTINGS, *DATABASE, WAKE_DRAINS],
    "relay": [
        SETTINGS,
        *DATABASE,
        "sqs:SendMessage <JobsQueue.Arn>",
        "if OwnQueues: sqs:SendMessage each of <OutboxQueues>",
        "if OwnBuses: events:PutEvents each of <OutboxBuses>",
    ],
    "consume": [SETTINGS, *DATABASE, *receive("JobsQueue"), WAKE_RELAY],
    "replay": [SETTINGS, *DATABASE, WAKE_DRAINS],
    "console": [SETTINGS, *DATABASE, WAKE_DRAINS],
    "alarm": [SETTINGS],
    "migrate": [
        SETTINGS,
        "secretsmanager:GetSecretValue <Database.Outputs.OwnerSecretArn> | <MigrationsSecretArn> | <DatabaseSecretArn>",
        "if MigratesByIam: rds-db:connect arn:<AWS::Partition>:rds-db:<AWS::Region>:<AWS::AccountId>:dbuser"
        ":<DatabaseResourceId>/<DatabaseUser>",
    ],
}

# In a network Lambda itself makes and removes the function's network interfaces, with the function's role.
NETWORK = {
    "Fn::If": [
        "InNetwork",
        [{"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/service-role/AWSLambdaENIManagementAccess"}],
        {"Ref": "AWS::NoValue"},
    ]
}


def role_of(function: dict[str, Any], translated: dict[str, Any]) -> dict[str, Any]:
    name, attribute = function["Role"]["Fn::GetAtt"]
    assert attribute == "Arn"
    properties: dict[str, Any] = translated["Resources"][name]["Properties"]
    return properties


def test_every_function_is_in_the_list(functions: dict[str, dict[str, Any]]) -> None:
    assert sorted(functions) == sorted(MAY)


@pytest.mark.parametrize("name", sorted(MAY))
def test_a_function_may_do_what_it_needs_and_no_more(
    name: str, functions: dict[str, dict[str, Any]], translated: dict[str, Any]
) -> None:
    logs = functions[name]["LoggingConfig"]["LogGroup"]["Ref"]
    write = [f"logs:{action} <{logs}.Arn>" for action in ("CreateLogStream", "PutLogEvents")]
    assert sorted(permissions(role_of(functions[name], translated))) == sorted([*MAY[name], *write])


@pytest.mark.parametrize("name", sorted(MAY))
def test_a_function_has_a_role_of_its_own_that_only_lambda_takes(
    name: str, functions: dict[str, dict[str, Any]], translated: dict[str, Any]
) -> None:
    assert [other for other, one in functions.items() if one["Role"] == functions[name]["Role"]] == [name]
    role = role_of(functions[name], translated)
    [statement] = role["AssumeRolePolicyDocument"]["Statement"]
    assert (statement["Action"], statement["Principal"]) == ("sts:AssumeRole", {"Service": "lambda.amazonaws.com"})
    assert role.get("ManagedPolicyArns") == (None if name == "alarm" else NETWORK)


def test_no_role_may_do_anything_with_everything(translated: dict[str, Any]) -> None:
    roles = [one["Properties"] for one in translated["Resources"].values() if one["Type"] == "AWS::IAM::Role"]
    granted = [line for role in roles for line in permissions(role)]
    assert len(granted) > 60
    assert [line for line in granted if "*" in line] == []


def test_who_else_may_invoke_a_function(translated: dict[str, Any]) -> None:
    """Beside functions: API Gateway by its routes, SNS from the alarms' topic, and the scheduler by roles of its own."""
    allowed = set()
    for resource in translated["Resources"].values():
        one = resource.get("Properties", {})
        if resource["Type"] == "AWS::Lambda::Permission":
            assert one["SourceArn"]
            allowed.add((one["Principal"], words(one["FunctionName"])))
        elif resource["Type"] == "AWS::Scheduler::Schedule":
            role = translated["Resources"][one["Target"]["RoleArn"]["Fn::GetAtt"][0]]["Properties"]
            assert [words(one["Target"]["Arn"])] == [line.split()[1] for line in permissions(role)]
            allowed.add(("the scheduler", words(one["Target"]["Arn"])))
    assert allowed == {
        ("apigateway.amazonaws.com", "<IntakeFunction>"),
        ("sns.amazonaws.com", "<AlarmFunction>"),
        ("the scheduler", "<DrainFunction.Arn>"),
        ("the scheduler", "<ScheduleFunction.Arn>"),
        ("the scheduler", "<RelayFunction.Arn>"),
    }


def test_a_function_may_wake_exactly_what_it_is_told_to_wake(functions: dict[str, dict[str, Any]]) -> None:
    for name, function in functions.items():
        variables = function["Environment"]["Variables"]
        told = {words(variables[one])[1:-1] for one in ("DRAIN_FUNCTION", "RELAY_FUNCTION") if one in variables}
        may = {line.split("<")[1].removesuffix(".Arn>") for line in MAY[name] if line.startswith("lambda:")}
        assert told == may, name


def test_nothing_invokes_itself(functions: dict[str, dict[str, Any]]) -> None:
    """Lambda ends a chain of functions that invoke themselves after 16 links: a drain goes on inside instead."""
    for name in functions:
        assert f"lambda:InvokeFunction <{name.capitalize()}Function.Arn>" not in MAY[name]
