"""The App of a container: kept from one invocation to the next, and made anew when a setting changes."""

from __future__ import annotations

import pytest
from tidemill import app


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
