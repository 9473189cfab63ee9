"""The secrets of the local run: made once, kept in a file that only its owner can read, and used again."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

_HEADER = "# Settings of the local run. Those that are missing are made up; the environment goes before this file.\n"


def read(path: Path) -> dict[str, str]:
    """The settings in the file, one NAME=value a line; {} where there is no file yet."""
    if not path.exists():
        return {}
    lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    pairs = [line.partition("=") for line in lines if "=" in line and not line.startswith("#")]
    return {name.strip(): value.strip() for name, _, value in pairs}


def complete(path: Path, needed: Iterable[str]) -> dict[str, str]:
    """The settings in the file, with a secret made up and written there for each needed name that it does not have.

    Made up means 32 random bytes in hex, which is also valid base64 for the senders whose secrets are.
    """
    found = read(path)
    made = {name: secrets.token_hex(32) for name in dict.fromkeys(needed) if not found.get(name)}
    if made:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = ("" if path.exists() else _HEADER) + "".join(f"{name}={value}\n" for name, value in made.items())
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as file:
            file.write(text)
    return {**found, **made}
