"""What the local run takes from template.yaml: functions, routes and schedules, so that what runs here is what deploys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from local.cloudformation import Loader, Resolver, is_intrinsic

_ASYNC_EVENT_AGE = 6 * 3600  # seconds; Lambda's own, where a function does not state one


@dataclass(frozen=True)
class Function:
    """A Lambda function. `name` is its folder's (drain), `full_name` the one in AWS (tidemill-drain); `timeout` and
    `event_age` are seconds, `memory` megabytes, `concurrency` the reserved one; `paths` are the layers' python folders."""

    name: str
    full_name: str
    folder: Path
    handler: str
    runtime: str
    timeout: float
    memory: int
    concurrency: int | None
    event_age: float
    environment: Mapping[str, str]
    paths: tuple[Path, ...]
    log_format: str


@dataclass(frozen=True)
class Route:
    """A route of the HTTP API: `method` is upper case or ANY; `path` may hold {names}; `function` is a Function's name."""

    method: str
    path: str
    function: str


@dataclass(frozen=True)
class Tick:
    """A schedule of EventBridge Scheduler: `period` in seconds, `input` the JSON text that the function gets."""

    function: str
    period: float
    input: str


@dataclass(frozen=True)
class Template:
    functions: tuple[Function, ...]
    routes: tuple[Route, ...]
    ticks: tuple[Tick, ...]


def read(path: Path) -> Template:
    """Read a SAM template. Parameters have their defaults ('' where there is none). Raises ValueError that names what it
    cannot read."""
    document = yaml.load(path.read_text("utf-8"), Loader=Loader)
    resolver = Resolver(document)
    merged = {
        name: _merge(document.get("Globals", {}).get("Function", {}), resource["Properties"])
        for name, resource in document["Resources"].items()
        if resource["Type"] == "AWS::Serverless::Function"
    }
    functions, routes, ticks = [], [], []
    for written in merged.values():
        # There are neither permissions nor networks here.
        properties = resolver.resolve({name: one for name, one in written.items() if name not in ("Role", "VpcConfig")})
        one = _function(path.parent, properties)
        functions.append(one)
        for event in properties.get("Events", {}).values():
            how = event.get("Properties", {})
            if event["Type"] == "HttpApi":
                routes.append(Route(how["Method"].upper(), how["Path"], one.name))
            elif event["Type"] == "ScheduleV2":
                ticks.append(Tick(one.name, _period(how["ScheduleExpression"]), how.get("Input", "{}")))
            else:
                raise ValueError(f"{path.name}: the local run has no {event['Type']} event ({one.name})")
    return Template(tuple(functions), tuple(routes), tuple(ticks))


def _function(root: Path, properties: Mapping[str, Any]) -> Function:
    folder = (root / properties["CodeUri"]).resolve()
    layers = [(root / layer).resolve() for layer in properties.get("Layers", [])]
    # In Lambda every layer is laid over /opt. A layer of files, not of code, is a function's own and so the last one.
    opt = str(layers[-1]) if layers else ""
    variables = properties.get("Environment", {}).get("Variables", {})
    return Function(
        name=folder.name,
        full_name=properties["FunctionName"],
        folder=folder,
        handler=properties["Handler"],
        runtime=properties["Runtime"],
        timeout=float(properties.get("Timeout", 3)),
        memory=int(properties.get("MemorySize", 128)),
        concurrency=properties.get("ReservedConcurrentExecutions"),
        event_age=float(properties.get("EventInvokeConfig", {}).get("MaximumEventAgeInSeconds", _ASYNC_EVENT_AGE)),
        environment={name: opt if value == "/opt" else str(value) for name, value in variables.items()},
        paths=tuple(layer / "python" for layer in layers if (layer / "python").is_dir()),
        log_format=properties.get("LoggingConfig", {}).get("LogFormat", "Text"),
    )


def _period(expression: str) -> float:
    found = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", expression)
    if found is None:
        raise ValueError(f"the local run ticks only rate(...) schedules, not {expression!r}")
    return float(int(found[1]) * {"minute": 60, "hour": 3600, "day": 86400}[found[2]])


def _merge(base: Any, over: Any) -> Any:
    """SAM's way with Globals: maps are merged, lists are joined, anything else is replaced."""
    if isinstance(base, dict) and isinstance(over, dict) and not is_intrinsic(base) and not is_intrinsic(over):
        return {**base, **{name: _merge(base[name], value) if name in base else value for name, value in over.items()}}
    if isinstance(base, list) and isinstance(over, list):
        return [*base, *over]
    return over
