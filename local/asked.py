"""`python -m local.asked production` succeeds where samconfig.toml says which database that environment has: then a deploy
need not ask for parameters."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

CONFIG = Path(__file__).parents[1] / "samconfig.toml"


def answers(environment: str, text: str) -> dict[str, str]:
    """The parameters that the `text` of samconfig.toml has for an environment."""
    deploy = tomllib.loads(text).get(environment, {}).get("deploy", {}).get("parameters", {})
    overrides = deploy.get("parameter_overrides", [])
    given = overrides.split() if isinstance(overrides, str) else overrides  # SAM reads both, and writes one text
    return dict(one.replace('"', "").split("=", 1) for one in given)


def answered(environment: str, text: str) -> bool:
    """Whether they name its database: one that exists, or a new one."""
    given = answers(environment, text)
    return bool(given.get("DatabaseSecretArn")) or given.get("NewDatabase") == "true"


if __name__ == "__main__":
    sys.exit(0 if answered(sys.argv[1], CONFIG.read_text("utf-8")) else 1)
