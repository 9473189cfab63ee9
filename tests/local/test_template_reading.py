"""Our template as the local run reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from local.cloudformation import arn
from local.template import Route, Tick, read

ROOT = Path(__file__).parents[2]

FUNCTION = """
Parameters:
  Most: {Type: Number, Default: 3}
Conditions:
  Bound: !Not [!Equals [!Ref Most, 0]]
Globals:
  Function:
    Runtime: python3.13
    Handler: app.handler
    Environment: {Variables: {A: "1", B: "2"}}
Resources:
  Other:
    Type: AWS::Serverless::Function
    Properties: {FunctionName: other, CodeUri: functions/other}
  One:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: !Sub "${AWS::StackName}-one"
      CodeUri: functions/one
      ReservedConcurrentExecutions: !If [Bound, !Ref Most, !Ref AWS::NoValue]
      Environment:
        Variables: {B: 3, OTHER: !Ref Other, ARN: !GetAtt Other.Arn}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "template.yaml"
    path.write_text(text)
    return path


def test_our_template_has_the_functions_and_the_intakes_routes() -> None:
    template = read(ROOT / "template.yaml")
    names = [one.name for one in template.functions]
    assert sorted(names) == [
        "absorb", "alarm", "console", "consume", "drain", "intake", "migrate", "relay", "replay", "schedule",
    ]  # fmt: skip
    assert Route("POST", "/hooks/{source}", "intake") in template.routes
    assert Route("GET", "/events/{ticket}", "intake") in template.routes
    assert Route("GET", "/health", "intake") in template.routes
    assert template.ticks == (Tick("drain", 60, "{}"), Tick("schedule", 60, "{}"), Tick("relay", 60, "{}"))


def test_our_functions_find_their_code() -> None:
    for one in read(ROOT / "template.yaml").functions:
        assert (one.folder / "app.py").is_file()
        assert [path.parent.name for path in one.paths] == ["tidemill", "automations"]


def test_a_layer_of_files_is_what_opt_stands_for() -> None:
    (migrate,) = [one for one in read(ROOT / "template.yaml").functions if one.name == "migrate"]
    assert migrate.environment["SQL_FOLDER"] == str(ROOT / "sql")


def test_what_is_only_in_aws_is_empty_here() -> None:
    """So that no function looks for it."""
    (intake,) = [one for one in read(ROOT / "template.yaml").functions if one.name == "intake"]
    for name in ("SETTINGS_SECRET_ARN", "DATABASE_SECRET_ARN", "DATABASE_HOST", "PARKING_QUEUE_URL"):
        assert intake.environment[name] == ""
    assert "AWS_ENDPOINT_URL_LAMBDA" not in intake.environment


@pytest.mark.parametrize(
    ("condition", "concurrency"),
    [
        ("!And [!Condition Right, !Condition Wrong]", None),
        ("!And [!Condition Right, !Condition Right]", 3),
        ("!Or [!Condition Right, !Condition Wrong]", 3),
        ("!Or [!Condition Wrong, !Condition Wrong]", None),
    ],
)
def test_conditions_are_decided(tmp_path: Path, condition: str, concurrency: int | None) -> None:
    conditions = f"Conditions:\n  Right: !Equals [1, 1]\n  Wrong: !Equals [1, 2]\n  Bound: {condition}\n"
    text = FUNCTION.replace("Conditions:\n  Bound: !Not [!Equals [!Ref Most, 0]]\n", conditions)
    _, one = read(write(tmp_path, text)).functions
    assert one.concurrency == concurrency


def test_globals_parameters_and_references_are_resolved(tmp_path: Path) -> None:
    _, one = read(write(tmp_path, FUNCTION)).functions
    assert (one.full_name, one.concurrency, one.timeout, one.event_age) == ("tidemill-one", 3, 3, 21600)
    assert one.environment == {"A": "1", "B": "3", "OTHER": "other", "ARN": arn("other")}


def test_a_condition_that_does_not_hold_leaves_the_property_out(tmp_path: Path) -> None:
    _, one = read(write(tmp_path, FUNCTION.replace("Default: 3", "Default: 0"))).functions
    assert one.concurrency is None


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("{Type: SNS}", "no SNS event"),
        ('{Type: ScheduleV2, Properties: {ScheduleExpression: "cron(0 9 * * ? *)"}}', "not 'cron"),
    ],
)
def test_an_event_that_the_local_run_does_not_have_is_named(tmp_path: Path, event: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path, f"{FUNCTION}      Events: {{It: {event}}}\n"))


def test_an_intrinsic_function_that_is_not_known_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Fn::Join"):
        read(write(tmp_path, FUNCTION.replace("B: 3", 'B: !Join ["", [a]]')))
