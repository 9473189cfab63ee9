"""What is pinned is pinned everywhere alike."""

from __future__ import annotations

import re
import subprocess
import tomllib
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[2]
LAYER = ROOT / "layers/dependencies"


def pins(path: Path) -> dict[str, str]:
    """The versions in a requirements file, by name. Every line must pin one."""
    lines = [line.partition("#")[0].strip() for line in path.read_text("utf-8").splitlines()]
    found = {}
    for line in filter(None, lines):
        pinned = re.fullmatch(r"([a-z0-9._-]+)(?:\[[a-z,]+\])?==([^ ;]+)(?: ;.*)?", line)
        assert pinned, line
        found[pinned[1]] = pinned[2]
    return found


def test_the_layer_has_the_versions_of_the_lock() -> None:
    lock = pins(ROOT / "requirements.lock")
    layer = pins(LAYER / "requirements.txt")
    assert layer
    assert {name: version for name, version in layer.items() if lock[name] != version} == {}


def test_the_layer_has_what_it_asks_for_and_not_boto3() -> None:
    """The runtime brings boto3."""
    asked = [line.partition("[")[0] for line in (LAYER / "requirements.in").read_text().splitlines() if line[0] != "#"]
    layer = pins(LAYER / "requirements.txt")
    assert asked
    assert set(asked) <= set(layer)
    assert "boto3" not in layer
    assert "botocore" not in layer


def test_the_project_pins_what_it_asks_for_as_the_lock_does() -> None:
    lock = pins(ROOT / "requirements.lock")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for asked in chain(project["dependencies"], *project["optional-dependencies"].values()):
        name, _, version = re.sub(r"\[\w+\]", "", asked).partition("==")
        assert lock[name.lower()] == version, asked


def test_no_pin_names_where_it_came_from() -> None:
    for path in (ROOT / "requirements.lock", LAYER / "requirements.txt"):
        assert not re.search("https?:|file:|--(extra-)?index|--find-links", path.read_text())


def build(path: str) -> str:
    """What the layer's Makefile would do, with this search path for programs."""
    command = ["/usr/bin/env", f"PATH={path}", "make", "-n", "build-DependenciesLayer", "ARTIFACTS_DIR=/artifacts"]
    return subprocess.run(command, cwd=LAYER, capture_output=True, text=True, check=True).stdout


def test_the_layer_is_built_for_arm64_and_python_313_from_wheels_only() -> None:
    recipe = build("/usr/bin:/bin")
    assert '--target "/artifacts/python"' in recipe
    for with_uv in ("--python-platform aarch64-manylinux_2_28", "--python-version 3.13", "--only-binary :all:"):
        assert with_uv in recipe
    for with_pip in ("--platform manylinux_2_28_aarch64", "--implementation cp", "--only-binary=:all:"):
        assert with_pip in recipe
    assert recipe.count("-r requirements.txt") == 2
