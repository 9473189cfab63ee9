"""CloudFormation's tags and intrinsic functions, as far as our own template uses them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

STACK = "tidemill"
REGION = "us-east-1"
ACCOUNT = "000000000000"


def arn(function_name: str) -> str:
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function_name}"


def is_intrinsic(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith(("Ref", "Fn::"))


class Resolver:
    """Resolves the intrinsic functions that a template of ours uses, with the defaults of its parameters."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._resources = document["Resources"]
        self._conditions = document.get("Conditions", {})
        self._values = {name: one.get("Default", "") for name, one in document.get("Parameters", {}).items()}
        self._values |= {"AWS::StackName": STACK, "AWS::Region": REGION, "AWS::AccountId": ACCOUNT, "AWS::Partition": "aws"}
        self._values["WayOut"] = "none"  # there is no network here, whose endpoints would be others

    def resolve(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.resolve(one) for one in value]
        if not isinstance(value, dict):
            return value
        if not is_intrinsic(value):
            return dict(self._without_no_values(value))
        ((name, argument),) = value.items()
        match name, argument:
            case "Ref", str():
                return self._ref(argument)
            case "Fn::GetAtt", [str() as resource, "Arn"]:
                return arn(self._ref(resource))
            case "Fn::GetAtt", [str(), str() as attribute] if attribute.startswith("Outputs."):
                return ""  # of a nested stack: there is none here
            case "Fn::Sub", str():
                return re.sub(r"\$\{([\w:]+)\}", lambda found: str(self._ref(found[1])), argument)
            case "Fn::If", [condition, then, otherwise]:
                return self.resolve(then if self._holds(self._conditions[condition]) else otherwise)
        raise ValueError(f"the local run cannot resolve {value}")

    def _without_no_values(self, value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for name, one in value.items():
            if (resolved := self.resolve(one)) != _NO_VALUE:
                yield name, resolved

    def _ref(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return _NO_VALUE
        if name in self._values:
            return self._values[name]
        resource = self._resources[name]
        properties = resource.get("Properties", {})
        match resource["Type"]:
            case "AWS::Serverless::Function":
                return self.resolve(properties["FunctionName"])
            case "AWS::Serverless::LayerVersion":
                return properties["ContentUri"]
            case "AWS::SQS::Queue" | "AWS::SecretsManager::Secret":
                return ""  # there is none here
        return name

    def _holds(self, condition: Mapping[str, Any]) -> bool:
        ((name, arguments),) = condition.items()
        match name:
            case "Fn::Equals":
                left, right = map(self.resolve, arguments)
                return str(left) == str(right)
            case "Fn::Not":
                return not self._holds(arguments[0])
            case "Fn::And":
                return all(map(self._holds, arguments))
            case "Fn::Or":
                return any(map(self._holds, arguments))
            case "Condition":
                return self._holds(self._conditions[arguments])
        raise ValueError(f"the local run cannot decide {condition}")


_NO_VALUE = object()


class Loader(yaml.SafeLoader):
    pass


def _tag(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    if isinstance(node, yaml.MappingNode):
        return {name: loader.construct_mapping(node, deep=True)}
    assert isinstance(node, yaml.ScalarNode)
    text = loader.construct_scalar(node)
    return {name: text.split(".", 1) if suffix == "GetAtt" else text}


Loader.add_multi_constructor("!", _tag)
