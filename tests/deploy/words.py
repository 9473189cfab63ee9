"""CloudFormation's values in words, so that a test can say what a template says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any


def words(value: Any) -> str:
    """A value as a person writes it: a reference by its name in angle brackets, a condition as `one | other`."""
    match value:
        case {"Ref": str(name)}:
            return f"<{name}>"
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return f"<{name}.{attribute}>"
        case {"Fn::Sub": str(text)}:
            return re.sub(r"\$\{([\w:.]+)\}", r"<\1>", text)
        case {"Fn::Join": [str(between), list(parts)]}:
            return between.join(words(part) for part in parts)
        case {"Fn::Split": [str(), one]}:
            return f"each of {words(one)}"
        case {"Fn::If": [str(), then, {"Ref": "AWS::NoValue"}]}:
            return words(then)
        case {"Fn::If": [str(), then, otherwise]}:
            return f"{words(then)} | {words(otherwise)}"
        case str() | int() | float():
            return str(value)
    raise AssertionError(f"no words for {value}")


def permissions(role: dict[str, Any]) -> Iterator[str]:
    """What a role may do, a line for each action and resource; `if <condition>:` before those that are not always there."""
    for policy in role.get("Policies", []):
        for statement in policy["PolicyDocument"]["Statement"]:
            yield from _of_statement(statement, "")


def _of_statement(statement: dict[str, Any], when: str) -> Iterator[str]:
    if "Fn::If" in statement:
        condition, then, otherwise = statement["Fn::If"]
        assert otherwise == {"Ref": "AWS::NoValue"}
        yield from _of_statement(then, f"if {condition}: ")
        return
    assert set(statement) == {"Effect", "Action", "Resource"} and statement["Effect"] == "Allow"
    for action in _several(statement["Action"]):
        for resource in _several(statement["Resource"]):
            yield f"{when}{action} {words(resource)}"


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
