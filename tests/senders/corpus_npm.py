"""The senders' packages on npm, where npm is: installed once into a folder of their own, and asked in one process."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tidemill import Request

PACKAGES = (
    "@linear/sdk@98.0.0",
    "@notionhq/client@5.26.0",
    "@octokit/webhooks-examples@7.6.1",
    "@octokit/webhooks-methods@6.0.0",
    "sns-validator@0.3.5",
)
SCRIPT = Path(__file__).with_suffix(".mjs")
INSTALL = ("install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0")


@functools.cache
def folder() -> Path | None:
    """Where the packages are; None where there is no npm, no node, or no registry that has them."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return None
    name = hashlib.sha256(" ".join(PACKAGES).encode()).hexdigest()[:12]
    home = Path(tempfile.gettempdir()) / f"tidemill-npm-{os.getuid()}-{name}"
    if not home.is_dir():
        made = Path(tempfile.mkdtemp(prefix="tidemill-npm-"))
        (made / "package.json").write_text("{}")
        try:
            subprocess.run([npm, *INSTALL, *PACKAGES], cwd=made, check=True, capture_output=True, timeout=120)
            made.rename(home)
        except (OSError, subprocess.SubprocessError):
            shutil.rmtree(made, ignore_errors=True)  # also where another process was quicker
    return home if home.is_dir() and home.stat().st_uid == os.getuid() else None


def github_examples() -> list[dict[str, Any]]:
    """`name` of an event and its `examples`: the bodies that GitHub's own SDK is tested with."""
    home = folder()
    assert home is not None
    text = (home / "node_modules/@octokit/webhooks-examples/api.github.com/index.json").read_text("utf-8")
    found: list[dict[str, Any]] = json.loads(text)
    return found


def question(sender: str, sent: Request, secret: str, now: float, certificate: bytes = b"") -> dict[str, Any]:
    """One request, as the script takes it."""
    headers = {name.lower(): value for name, value in sent.headers}
    return {
        "sender": sender,
        "headers": headers,
        "body": base64.b64encode(sent.body).decode(),
        "secret": secret,
        "now": now,
        "certificate": certificate.decode(),
    }


def verdicts(questions: list[dict[str, Any]]) -> list[bool]:
    """What the packages say, in the order of the questions."""
    command = ["node", "--input-type=module", "--eval", SCRIPT.read_text("utf-8")]
    asked = json.dumps(questions)  # ASCII: a lone surrogate stays an escape
    ended = subprocess.run(command, cwd=folder(), input=asked, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    answers: list[bool] = json.loads(ended.stdout)
    assert len(answers) == len(questions)
    return answers
