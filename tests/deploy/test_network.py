"""The optional network and database, and the ways out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import boto3
import pytest
from samtranslator.yaml_helper import yaml_parse

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def database() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(json.dumps(yaml_parse((ROOT / "infra/database.yaml").read_text("utf-8"))))
    return parsed


def test_the_nested_stack_is_given_what_it_asks_for_and_gives_what_is_used(
    template: dict[str, Any], database: dict[str, Any]
) -> None:
    assert set(template["Resources"]["Database"]["Properties"]["Parameters"]) == set(database["Parameters"])
    used = set(re.findall(r'"Fn::GetAtt": \["Database", "Outputs\.(\w+)"\]', json.dumps(template)))
    assert used == set(database["Outputs"])


def test_a_new_database_outlives_the_stack_and_is_not_open_to_the_world(
    template: dict[str, Any], database: dict[str, Any]
) -> None:
    assert template["Resources"]["Database"]["DeletionPolicy"] == "Retain"
    resources = database["Resources"]
    cluster = resources["Cluster"]["Properties"]
    assert cluster["DeletionProtection"] and cluster["StorageEncrypted"] and cluster["ManageMasterUserPassword"]
    assert resources["Cluster"]["DeletionPolicy"] == "Snapshot"
    assert resources["Server"]["Properties"]["PubliclyAccessible"] is False
    groups = {name: one["Properties"] for name, one in resources.items() if one["Type"] == "AWS::EC2::SecurityGroup"}
    for group in groups.values():
        for rule in group.get("SecurityGroupIngress", ()):
            assert rule["SourceSecurityGroupId"] == {"Fn::GetAtt": ["FunctionsGroup", "GroupId"]}


@pytest.mark.parametrize(
    ("way", "kinds"),
    [
        ("ByIpv6", {"EgressOnlyInternetGateway", "Route"}),
        ("ByNat", {"InternetGateway", "VPCGatewayAttachment", "Subnet", "RouteTable", "Route", "SubnetRouteTableAssociation",
                   "EIP", "NatGateway"}),
        ("ByEndpoints", {"VPCEndpoint", "SecurityGroup"}),
    ],
)  # fmt: skip
def test_a_way_out_is_made_only_where_it_is_chosen(way: str, kinds: set[str], database: dict[str, Any]) -> None:
    made = {one["Type"].rpartition("::")[2] for one in database["Resources"].values() if one.get("Condition") == way}
    assert made == kinds
    always = {one["Type"] for one in database["Resources"].values() if "Condition" not in one}
    assert not {"AWS::EC2::NatGateway", "AWS::EC2::VPCEndpoint", "AWS::RDS::DBProxy"} & always


@pytest.mark.parametrize("service", ["secretsmanager", "sqs", "lambda", "events"])
def test_over_ipv6_the_addresses_of_aws_are_those_that_have_it(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the variable that the template sets: botocore's own names for them."""
    monkeypatch.setenv("AWS_USE_DUALSTACK_ENDPOINT", "true")
    keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
    client = boto3.Session(region_name="eu-south-1").client(service, **keys)
    assert client.meta.endpoint_url == f"https://{service}.eu-south-1.api.aws"


def test_over_ipv6_our_own_requests_go_there_too(template: dict[str, Any], functions: dict[str, dict[str, Any]]) -> None:
    """Those that boto3 does not make."""
    variables = functions["intake"]["Environment"]["Variables"]
    for name, service in {"AWS_ENDPOINT_URL_LAMBDA": "lambda", "PARKING_QUEUE_URL": "sqs"}.items():
        condition, over_ipv6, _ = variables[name]["Fn::If"]
        assert condition == "OverIpv6"
        assert over_ipv6["Fn::Sub"].startswith(f"https://{service}.${{AWS::Region}}.api.aws")
    assert functions["intake"]["VpcConfig"]["Fn::If"][1]["Ipv6AllowedForDualStack"]["Fn::If"] == ["OverIpv6", True, False]
