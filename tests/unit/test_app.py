"""The App of a container: kept from one invocation to the next, and made anew when a setting changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tidemill import app

from tests.conftest import ROOT


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://nowhere/tidemill")
    monkeypatch.setenv("AUTOMATIONS", "json")
    monkeypatch.setattr(app, "_current", None)


def test_the_app_and_its_connection_outlive_an_invocation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Lambda runtime client sets the trace's id in the environment before each invocation."""
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1")
    first = app.current()
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=2")
    assert app.current() is first


def test_a_changed_setting_makes_a_new_app(monkeypatch: pytest.MonkeyPatch) -> None:
    first = app.current()
    monkeypatch.setenv("LEASE_SECONDS", "7")
    assert (first.lease, app.current().lease) == (app.DEFAULT_LEASE, 7)


OTHERS = (
    "absorb", "alerts", "console", "consume", "drain", "operate", "relay", "schedule", "telegram", "tick", "worker"
)  # fmt: skip


def test_the_intake_imports_nothing_that_only_other_functions_need(tmp_path: Path) -> None:
    """A cold start is waited for by a sender."""
    others = [f"tidemill.{name}" for name in OTHERS]
    program = (
        "import sys; from tidemill import app; app.current().intake;"
        f" print(*sorted(sys.modules.keys() & {{'boto3', *{others}}}))"
    )
    (tmp_path / "one.py").write_text("from tidemill import NewJob, Source, handler\n")
    environ = {**os.environ, "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/x", "AUTOMATIONS": "one"}
    path = os.pathsep.join([str(tmp_path), str(ROOT / "layers/tidemill/python")])
    ran = subprocess.run(
        [sys.executable, "-c", program], env={**environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60
    )
    assert (ran.stdout.strip(), ran.stderr) == ("", "")
