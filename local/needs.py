"""`python -m local.needs` prints the sources that the automations declare, with the settings each needs, as JSON.

In a process of its own, with a function's environment, so that nothing of the automations is loaded into the local run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tidemill import app
from tidemill.errors import ConfigurationError

ROOT = Path(__file__).parents[1]


def ask(environment: Mapping[str, str]) -> dict[str, list[str]]:
    """The names of the sources, each with the names of its secrets. Raises ConfigurationError that says what is wrong with
    the automations."""
    command = [sys.executable, "-m", "local.needs"]
    done = subprocess.run(command, cwd=ROOT, env=dict(environment), capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConfigurationError((done.stderr.strip().splitlines() or ["the automations end the process"])[-1])
    needs: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return needs


def main() -> None:
    try:
        loaded = app.load({**os.environ, "DATABASE_URL": os.environ.get("DATABASE_URL") or "postgresql:///not-used"})
    except ConfigurationError as error:
        sys.exit(str(error))
    print(json.dumps({name: list(source.secrets) for name, source in loaded.sources.items()}))


if __name__ == "__main__":
    main()
