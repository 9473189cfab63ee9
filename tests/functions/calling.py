"""The command line as tests call it: in this process, as a process of its own, and at a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from typing import Any

from tidemill.cli.main import app
from tidemill.wire import Connection
from typer.testing import CliRunner, Result

from tests.conftest import ROOT

PATHS = [str(ROOT / "layers/tidemill/python"), str(ROOT / "layers/automations/python"), str(ROOT)]
COMMAND = [sys.executable, "-m", "tidemill"]


def call(*arguments: str) -> Result:
    """`tidemill ...` in this process."""
    return CliRunner().invoke(app, arguments)


def answer(*arguments: str) -> Any:
    """The answer of a command that is carried out."""
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def environment(**more: str) -> dict[str, str]:
    """This process's environment, in which a process finds the library, the automations and the tests'."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS), **more}


def run(*arguments: str, stdin: str | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """`tidemill ...` as a process whose output is piped."""
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environment(**more),
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class Terminal:
    """`tidemill ...` at a terminal of 100 columns: `text` is all that was shown there so far."""

    def __init__(self, *arguments: str, **more: str) -> None:
        parent, child = pty.openpty()
        env = environment(TERM="xterm-256color", COLUMNS="100", **more)
        self._process = subprocess.Popen([*COMMAND, *arguments], env=env, stdin=child, stdout=child, stderr=child)
        os.close(child)
        self._screen = parent
        self.text = ""

    def wait_for(self, text: str) -> None:
        while text not in self.text:
            assert self._read(), f"it ended without saying {text!r}: {self.text}"

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self) -> int:
        """Read on to the end; the exit code."""
        while self._read():
            pass
        os.close(self._screen)
        return self._process.wait(30)

    def _read(self) -> bool:
        readable, _, _ = select.select([self._screen], [], [], 30)
        assert readable, f"nothing comes any more: {self.text}"
        try:
            piece = os.read(self._screen, 65536)
        except OSError:  # how Linux tells that the other side has closed
            return False
        self.text += piece.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(piece)


def add_failed(connection: Connection, **columns: str) -> int:
    """A failed job; its id."""
    values = {"kind": "order.announce", "status": "failed", "error_class": "KeyError", "last_error": "number", **columns}
    text = (
        f"insert into jobs ({', '.join(values)}, finished_at) values ({', '.join(['%s'] * len(values))}, now()) returning id"
    )
    return int(connection.execute(text, list(values.values())).fetchall()[0][0])  # type: ignore[call-overload]
