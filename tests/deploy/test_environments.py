"""Two environments from one samconfig.toml, and the parameters that a person is asked for."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from local.asked import answered, answers

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "samconfig.toml").read_text("utf-8")
CONFIG = tomllib.loads(TEXT)
SECRET = "arn:aws:secretsmanager:eu-south-1:123456789012:secret:db-AbCdEf"


def parameters(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = template["Parameters"]
    return found


@pytest.mark.parametrize("environment", ["staging", "production"])
def test_an_environment_has_a_stack_of_its_own_and_parameters_that_exist(
    environment: str, template: dict[str, Any]
) -> None:
    assert CONFIG[environment]["global"]["parameters"]["stack_name"] == f"tidemill-{environment}"
    deploy = CONFIG[environment]["deploy"]["parameters"]
    assert deploy["capabilities"] == "CAPABILITY_IAM"  # no role has a name of its own
    given = answers(environment, TEXT)
    assert given and set(given) <= set(parameters(template))


def test_production_changes_nothing_before_a_person_has_seen_it() -> None:
    assert CONFIG["production"]["deploy"]["parameters"]["confirm_changeset"] is True


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ("[]", False),
        ('["DrainConcurrency=2"]', False),
        ('["DatabaseSecretArn="]', False),
        ('["NewDatabase=false"]', False),
        ('["NewDatabase=true"]', True),
        (f'["DrainConcurrency=2", "DatabaseSecretArn={SECRET}"]', True),
        (f'"DatabaseSecretArn=\\"{SECRET}\\" DrainConcurrency=\\"2\\""', True),
    ],
)
def test_a_deploy_asks_until_it_is_known_which_database_it_has(overrides: str, expected: bool) -> None:
    text = f"[staging.deploy.parameters]\nparameter_overrides = {overrides}\n"
    assert answered("staging", text) is expected
    assert answered("production", text) is False


def test_the_first_deploy_of_an_environment_asks() -> None:
    command = ["make", "-n", "deploy", "ENV=elsewhere"]
    recipe = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "sam deploy --config-env elsewhere --guided" in recipe


def test_every_parameter_reads_well_in_the_console(template: dict[str, Any]) -> None:
    for name, one in parameters(template).items():
        assert one["Description"][0].isupper() or ":" in one["Description"], name
        if "AllowedPattern" in one:
            assert one["ConstraintDescription"], name
            assert re.fullmatch(one["AllowedPattern"], str(one["Default"])), name


def test_every_parameter_stands_in_one_group(template: dict[str, Any]) -> None:
    groups = template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    grouped = [name for group in groups for name in group["Parameters"]]
    assert sorted(grouped) == sorted(parameters(template))


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("DatabaseSecretArn", SECRET, "my-secret"),
        ("DatabaseHost", "db.cluster-abc.eu-south-1.rds.amazonaws.com", "postgresql://db"),
        ("DatabaseResourceId", "prx-0123abc", "my-proxy"),
        ("SubnetIds", "subnet-0a1b,subnet-2c3d", "subnet-0a1b, subnet-2c3d"),
        ("SecurityGroupIds", "sg-0a1b", "my-group"),
        ("Automations", "automations,my_shop.orders", "automations, my-shop"),
        ("PublicUrl", "https://hooks.example.com", "http://hooks.example.com"),
        ("AlarmEmail", "ann@example.com", "ann"),
        ("OutboxQueues", "arn:aws:sqs:eu-south-1:1:a,arn:aws:sqs:eu-south-1:1:b", "https://sqs.eu-south-1.amazonaws.com/1/a"),
    ],
)
def test_a_parameter_takes_what_is_right_and_refuses_what_is_wrong(
    name: str, good: str, bad: str, template: dict[str, Any]
) -> None:
    pattern = parameters(template)[name]["AllowedPattern"]
    assert re.fullmatch(pattern, good) and re.fullmatch(pattern, "" if name != "Automations" else good)
    assert not re.fullmatch(pattern, bad)


def holds(condition: dict[str, Any], given: dict[str, str]) -> bool:
    """A condition of a rule, with parameters as given."""
    ((name, arguments),) = condition.items()
    match name:
        case "Fn::Equals":
            left, right = (given[one["Ref"]] if isinstance(one, dict) else one for one in arguments)
            return bool(left == right)
        case "Fn::Not":
            return not holds(arguments[0], given)
        case "Fn::And":
            return all(holds(one, given) for one in arguments)
        case "Fn::Or":
            return any(holds(one, given) for one in arguments)
    raise AssertionError(name)


CERTIFICATES = {"DatabaseCaFile": "/opt/database-ca.pem"}


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"DatabaseSecretArn": SECRET}, ""),
        ({"NewDatabase": "true"} | CERTIFICATES, ""),
        ({"DatabaseSecretArn": SECRET, "SubnetIds": "subnet-1", "SecurityGroupIds": "sg-1"}, ""),
        ({"DatabaseSecretArn": SECRET, "DatabaseIam": "true", "DatabaseUser": "a", "DatabaseResourceId": "db-A"}, ""),
        ({"NewDatabase": "true", "DatabaseIam": "true"} | CERTIFICATES, ""),
        ({}, "Give DatabaseSecretArn"),
        ({"NewDatabase": "true", "DatabaseSecretArn": SECRET} | CERTIFICATES, "leave DatabaseSecretArn"),
        ({"NewDatabase": "true", "SubnetIds": "subnet-1", "SecurityGroupIds": "sg-1"} | CERTIFICATES, "SubnetIds empty"),
        ({"NewDatabase": "true"}, "DatabaseCaFile"),
        ({"DatabaseSecretArn": SECRET, "SubnetIds": "subnet-1"}, "SecurityGroupIds is needed"),
        ({"DatabaseSecretArn": SECRET, "DatabaseIam": "true", "DatabaseUser": "a"}, "DatabaseResourceId are needed"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused_before_anything_is_made(
    given: dict[str, str], missing: str, template: dict[str, Any]
) -> None:
    values = {name: str(one["Default"]) for name, one in parameters(template).items()} | given
    refusals = [
        assertion["AssertDescription"]
        for rule in template["Rules"].values()
        if "RuleCondition" not in rule or holds(rule["RuleCondition"], values)
        for assertion in rule["Assertions"]
        if not holds(assertion["Assert"], values)
    ]
    assert len(refusals) == bool(missing) and missing in "".join(refusals)


def test_each_way_out_has_its_price_beside_it(template: dict[str, Any]) -> None:
    one = parameters(template)["WayOut"]
    assert one["AllowedValues"] == ["none", "ipv6", "nat"]
    for way, price in (("ipv6", "free"), ("nat", "$36.5"), ("none", "$22")):
        assert re.search(rf"\b{way}:[^:]*{re.escape(price)}", one["Description"]), way
