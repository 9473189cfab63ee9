"""Applies the migrations at deploy, as a CloudFormation custom resource; invoked by hand it answers what it applied."""

from __future__ import annotations

from typing import Any

from tidemill import custom_resource


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return custom_resource.handle(event, context)
