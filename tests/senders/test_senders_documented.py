"""docs/senders.md says what the code does."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tidemill
from tidemill import Source, senders, verify

PAGE = (Path(__file__).parents[2] / "docs/senders.md").read_text("utf-8")
ROWS = {row[0]: row[1:] for row in re.findall(r"^\| `senders\.(\w+)\(\)` \|" + r" (.*) \|" * 5 + "$", PAGE, re.MULTILINE)}


def test_each_preset_has_a_row_and_each_row_a_preset() -> None:
    assert sorted(ROWS) == sorted(preset.__name__ for preset in senders.PRESETS)
    assert sorted(senders.__all__) == sorted(["PRESETS", "sign", *ROWS])


@pytest.mark.parametrize("preset", senders.PRESETS, ids=lambda preset: str(preset.__name__))
def test_a_row_has_the_settings_the_tolerance_and_the_place_to_register(preset: Any) -> None:
    settings, _, _, time, register = ROWS[preset.__name__]
    source = preset()
    assert re.findall("`([A-Z_]+)`", settings) == list(source.secrets)
    assert register == source.register
    tolerance = inspect.signature(preset).parameters.get("tolerance")
    says = "none" if tolerance is None else "any" if tolerance.default is None else f"{tolerance.default:.0f} s"
    assert time == says


@pytest.mark.parametrize("code", re.findall("```python\n(.*?)```", PAGE, re.DOTALL))
def test_the_code_that_is_shown_runs(code: str) -> None:
    module = SimpleNamespace()
    exec(compile(code, "docs/senders.md", "exec"), module.__dict__)
    assert any(isinstance(value, Source) for value in vars(module).values())


def test_a_sender_that_is_not_in_the_table_takes_under_ten_lines() -> None:
    (code,) = re.findall("## A sender that is not in the table\n\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert len([line for line in code.splitlines() if line]) < 10


def test_every_name_that_is_said_to_be_there_is_there() -> None:
    last = PAGE.rpartition("```\n")[2]
    names = set(re.findall(r"`([a-z_0-9]+)`", last)) - {"sha1", "sha256", "sha512"}
    assert len(names) > 15
    assert {name for name in names if not hasattr(verify, name)} == set()
    assert {name for name in ("Accepted", "Refused", "Reply", "Source") if not hasattr(tidemill, name)} == set()
