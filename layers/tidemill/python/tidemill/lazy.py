"""Names of a package that are imported when they are first used, so that a function loads no more than it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names(namespace: dict[str, Any], homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """The `__getattr__` of the package with these globals; `homes` maps a module of it to the names that it has."""
    package = namespace["__name__"]
    module_of = {name: module for module, own in homes.items() for name in own}

    def get(name: str) -> Any:
        if (module := module_of.get(name)) is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = namespace[name] = getattr(import_module(f"{package}.{module}"), name)
        return value

    return get
