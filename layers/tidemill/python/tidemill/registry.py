"""What automations declare (sources, handlers, schedules) while their modules are imported, and the loading of them."""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, NamedTuple, TypeVar

from tidemill.errors import ConfigurationError

T = TypeVar("T")

_lock = threading.RLock()
_loading: list[str] = []


class _Declared(NamedTuple):
    owner: str  # the name in AUTOMATIONS that was being loaded, or the declaring module
    thing: object


class Registry(Generic[T]):
    """Things declared at import. One declared again under the same identity (a reloaded module) replaces the first."""

    def __init__(self) -> None:
        self._declared: dict[Hashable, _Declared] = {}

    def add(self, identity: Hashable, module: str, thing: T) -> None:
        self._declared[identity] = _Declared(_loading[-1] if _loading else module, thing)

    def get(self, identity: Hashable) -> T | None:
        """What was declared last under this identity."""
        found = self._declared.get(identity)
        return found.thing if found else None  # type: ignore[return-value]

    def of(self, names: Iterable[str]) -> list[T]:
        """What the modules and packages of these names declared, in order."""
        wanted = tuple(names)
        return [
            declared.thing  # type: ignore[misc]
            for declared in self._declared.values()
            if any(declared.owner == name or declared.owner.startswith(name + ".") for name in wanted)
        ]


def load_modules(names: Iterable[str]) -> None:
    """Import these modules; of a package every module in it, too. Raises ConfigurationError that names each module that
    cannot be imported and why."""
    faults: list[str] = []
    for name in names:
        with _owned_by(name):
            for module in _modules(name, faults):
                _import(module, faults)
    if faults:
        raise ConfigurationError("; ".join(faults))


def _modules(name: str, faults: list[str]) -> Iterator[str]:
    package = _import(name, faults)
    if package is not None and (path := getattr(package, "__path__", None)) is not None:
        yield from (found.name for found in sorted(pkgutil.walk_packages(path, name + "."), key=lambda found: found.name))


def _import(name: str, faults: list[str]) -> object | None:
    try:
        return importlib.import_module(name)
    except Exception as error:  # whatever a user's file does when it is imported
        faults.append(f"the automation {name} cannot be loaded: {type(error).__name__}: {error}")
        return None


@contextmanager
def _owned_by(name: str) -> Iterator[None]:
    with _lock:
        _loading.append(name)
        try:
            yield
        finally:
            _loading.pop()
