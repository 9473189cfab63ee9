"""The rules of the house: who may import whom."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "layers/tidemill/python/tidemill"
AUTOMATIONS = ROOT / "layers/automations/python/automations"

PUBLIC_MODULES = {"tidemill", "tidemill.verify", "tidemill.senders"}


def listed() -> list[str]:
    """The modules in the table of docs/architecture.md, in its order."""
    rows = re.findall(r"^\| (`[a-z_`, ]+) \|", (ROOT / "docs/architecture.md").read_text("utf-8"), re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def modules() -> Iterator[tuple[str, Path]]:
    """The library's modules, each with its name in the list: a package is one, and its files are parts of it."""
    for path in sorted(LIBRARY.rglob("*.py")):
        name = path.relative_to(LIBRARY).with_suffix("").parts[0]
        if not name.startswith("__") and name != "statements":
            yield name, path


def imports(path: Path) -> Iterator[str]:
    """The full name of each module that a file imports, wherever in it. `from tidemill import queue` counts as
    tidemill.queue, a public name of tidemill as tidemill itself."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: imports are absolute"
            assert node.module is not None
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield module if node.module == "tidemill" and alias.name in NAMES else node.module


MODULES = list(modules())
NAMES = {name for name, _ in MODULES}


def test_every_module_is_in_the_list_and_the_other_way_round() -> None:
    assert sorted(NAMES) == sorted(listed())


@pytest.mark.parametrize(("name", "path"), MODULES, ids=[str(path.relative_to(LIBRARY)) for _, path in MODULES])
def test_a_module_imports_only_what_stands_above_it(name: str, path: Path) -> None:
    order = listed()
    above = order[: order.index(name)] if name in order else []
    used = {module.split(".")[1] for module in imports(path) if module.startswith("tidemill.")}
    assert sorted(used - {*above, name, "statements"}) == []


@pytest.mark.parametrize("path", sorted(AUTOMATIONS.rglob("*.py")), ids=lambda path: path.name)
def test_automations_import_only_public_names(path: Path) -> None:
    assert {module for module in imports(path) if module.partition(".")[0] == "tidemill"} <= PUBLIC_MODULES


def test_the_library_never_imports_automations() -> None:
    for _, path in MODULES:
        assert "automations" not in {module.partition(".")[0] for module in imports(path)}


def test_the_library_does_not_know_the_local_run_the_functions_or_the_tests() -> None:
    for _, path in MODULES:
        assert not {"local", "functions", "tests"} & {module.partition(".")[0] for module in imports(path)}
