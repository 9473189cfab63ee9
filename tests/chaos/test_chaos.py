"""A short run of the chaos test, and that it leaves nothing behind when it is broken off."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from tests.chaos.slots import ROOT


def start(*arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "layers/tidemill/python"), str(ROOT)))}
    command = [sys.executable, "-m", "tests.chaos", *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_short_run_loses_nothing_and_doubles_nothing() -> None:
    with start("--seconds", "10", "--seed", "14") as run:
        said, _ = run.communicate(timeout=300)
    assert run.returncode == 0, said
    assert "everything holds" in said


def test_a_run_that_is_broken_off_leaves_nothing_behind() -> None:
    with start("--seconds", "60") as run:
        assert run.stdout is not None
        lines = [run.stdout.readline() for _ in range(2)]
        folder = Path(re.sub(r".*everything is in (\S+)\n", r"\1", lines[0]))
        server = psutil.Process(int((folder / "data/postmaster.pid").read_text().split()[0]))
        processes = [server, *psutil.Process(run.pid).children(recursive=True)]
        assert len(processes) >= 10, lines
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
    assert run.returncode == 130
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert (alive, folder.exists()) == ([], False)
