"""The canary of the whole suite: whatever a test does, no secret of the settings that it made stands in a line that was
logged, or in a row of its database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tidemill import telemetry
from tidemill.settings import Settings

from tests.canary.search import found_in, leaks, secrets_of

# What the sender has sent is stored exactly, and a route hands on what it likes of it: tests send secrets to see that they
# come no further.
LEAVE_OUT = {"events": "body", "jobs": "payload"}


class Watched:
    """What one test has made known: secrets, and where they were found."""

    def __init__(self) -> None:
        self.secrets: set[str] = set()
        self.found: list[str] = []

    def look_at(self, lines: list[str]) -> None:
        self.found += [f"logged: {place}" for line in lines for place in found_in(line, self.secrets)]


@pytest.fixture
def planted() -> None:
    """For a test that puts a secret into a row itself, to see that it goes no further: its rows are not looked at."""


@pytest.fixture(autouse=True)
def nothing_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test after which a secret stands where none may be."""
    # Before everything else, so that it is there when the test has ended.
    url = request.getfixturevalue("database_url") if "database_url" in request.fixturenames else None
    watched = Watched()
    make, write = Settings.__init__, telemetry.write_lines

    def made(settings: Settings, *given: Any, **named: Any) -> None:
        make(settings, *given, **named)
        watched.secrets |= secrets_of(settings)

    def written(lines: list[str]) -> None:
        watched.look_at(lines)
        write(lines)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Settings, "__init__", made)
        patch.setattr(telemetry, "write_lines", written)
        yield
    if url is not None and watched.secrets and "planted" not in request.fixturenames:
        watched.found += leaks(url, watched.secrets, LEAVE_OUT)
    assert not watched.found, "a secret has leaked:\n" + "\n".join(watched.found[:20])
