"""The template as CloudFormation gets it: what SAM's own translator makes of it, offline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

ROOT = Path(__file__).parents[2]


class NoManagedPolicies:
    """The template names no managed policy, so the translator need not ask AWS for their list."""

    def load(self) -> dict[str, str]:
        return {}


@pytest.fixture(scope="session")
def template() -> dict[str, Any]:
    """template.yaml as it is written, with intrinsic functions in their long form."""
    parsed: dict[str, Any] = json.loads(json.dumps(yaml_parse((ROOT / "template.yaml").read_text("utf-8"))))
    return parsed


@pytest.fixture(scope="session")
def translated(template: dict[str, Any]) -> dict[str, Any]:
    """The same after SAM's translation, as if its code lay in a bucket."""
    packaged = json.loads(json.dumps(template))
    for resource in packaged["Resources"].values():
        for name in ("CodeUri", "ContentUri"):
            if name in resource.get("Properties", {}):
                resource["Properties"][name] = f"s3://bucket/{resource['Properties'][name]}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        result: dict[str, Any] = transform(packaged, {}, NoManagedPolicies())
    return result


@pytest.fixture(scope="session")
def functions(translated: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The properties of each function in the translated template, by the name of its folder."""
    found = {}
    for resource in translated["Resources"].values():
        if resource["Type"] == "AWS::Lambda::Function":
            properties = resource["Properties"]
            found[properties["FunctionName"]["Fn::Sub"].rpartition("-")[2]] = properties
    return found
