"""One version of the code, run as Lambda would run it: each function in a process of its own, with that version's layers."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SECRET = "a secret of the shop"

# The answer is the last line: what the function logs stands before it.
RUN = "import json, sys; from app import handler; print(\"\\n\" + json.dumps(handler(json.load(sys.stdin), None)))"


@dataclass(frozen=True)
class Code:
    tree: Path

    def run(self, function: str, url: str, event: object = None) -> Any:
        """What the function answers to the event. Raises CalledProcessError where its process fails."""
        ran = self._process(url, ["-c", RUN], json.dumps(event), self.tree / "functions" / function)
        return json.loads(ran.splitlines()[-1])

    def imported_from(self) -> Path:
        """Where the library lies that the functions import."""
        return Path(self._process("", ["-c", "import tidemill; print(tidemill.__file__)"], "").strip())

    def migrate(self, url: str) -> None:
        self._process(url, ["-m", "tidemill", "migrate"], "")

    def deliver(self, url: str, key: str, **body: Any) -> int:
        """The status that the intake answers to a signed delivery with this key."""
        text = json.dumps({"key": key, **body})
        signature = hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).hexdigest()
        headers = {"x-signature": signature, "x-delivery": signature, "content-type": "application/json"}
        http = {"method": "POST", "path": "/hooks/shop", "protocol": "HTTP/1.1", "sourceIp": "203.0.113.7"}
        event = {
            "version": "2.0",
            "rawPath": "/hooks/shop",
            "rawQueryString": "",
            "headers": headers,
            "requestContext": {"http": http, "domainName": "example.com", "stage": "$default"},
            "pathParameters": {"source": "shop"},
            "body": text,
            "isBase64Encoded": False,
        }
        return int(self.run("intake", url, event)["statusCode"])

    def _process(self, url: str, arguments: list[str], given: str, *path: Path) -> str:
        layers = self.tree / "layers"
        python_path = [*path, layers / "tidemill/python", layers / "automations/python", ROOT]
        environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, python_path)),
            "AUTOMATIONS": "tests.mixed.automation",
            "DATABASE_URL": url,
            "DRAIN_LINGER": "0",
            "SHOP_WEBHOOK_SECRET": SECRET,
        }
        command = [sys.executable, *arguments]
        ran = subprocess.run(command, input=given, env=environ, cwd=self.tree, capture_output=True, text=True, timeout=60)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout


def before_the_newest_migration() -> str | None:
    """The commit before the one that brought the newest change to sql/; None where the history does not reach so far."""
    newest = _git("log", "-1", "--format=%H", "--diff-filter=A", "--", "sql")
    if newest is None or not newest.strip():
        return None
    parent = _git("rev-parse", "--verify", "--quiet", f"{newest.decode().strip()}^")
    return parent.decode().strip() if parent else None


def check_out(commit: str, folder: Path) -> Code:
    packed = _git("archive", commit, "functions", "layers", "sql")
    assert packed is not None
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return Code(folder)


def _git(*arguments: str) -> bytes | None:
    ran = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True)
    return ran.stdout if ran.returncode == 0 else None
