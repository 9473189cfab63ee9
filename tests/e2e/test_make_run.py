"""`make run` as a person has it: started, used by pasting, ended in each of the ways that it is ended."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
RUN = [sys.executable, "-m", "local.run"]


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a local run with these settings; one that a failed test left behind is ended."""
    started: list[subprocess.Popen[str]] = []

    def start_one(command: list[str], **environ: str) -> subprocess.Popen[str]:
        started.append(popen(command, environ))
        return started[-1]

    yield start_one
    for process in started:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=30)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for a local run. Not tmp_path: run by root, Postgres is another user, whom pytest shuts out of there."""
    with tempfile.TemporaryDirectory(prefix="tidemill-run-") as path:
        yield Path(path) / "data"


def popen(command: list[str], environ: dict[str, str]) -> subprocess.Popen[str]:
    clean = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "MAKEFLAGS", "MAKELEVEL")}
    python_path = f"{ROOT / 'layers/tidemill/python'}:{ROOT / 'layers/automations/python'}"
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env={**clean, "PORT": "0", "PYTHONPATH": python_path, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def read_until(process: subprocess.Popen[str], text: str) -> list[str]:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError(f"it ended without {text!r}: {''.join(lines)}")


def paste(lines: list[str]) -> str:
    """What the printed curl answers, pasted into a shell."""
    (curl,) = [line for line in lines if line.strip().startswith("curl")]
    done = subprocess.run(["bash", "-c", curl.replace("curl -i", "curl -si")], capture_output=True, text=True, check=True)
    return done.stdout


def family(process: subprocess.Popen[str], folder: Path) -> set[psutil.Process]:
    """The processes that belong to a local run, Postgres included."""
    servers = working_in(folder)
    descendants = psutil.Process(process.pid).children(recursive=True)
    return {*servers, *descendants, *(child for one in servers for child in one.children())}


def working_in(folder: Path) -> list[psutil.Process]:
    return [one for one in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(one.info["cmdline"] or [])]


def end(process: subprocess.Popen[str], kill: Callable[[], None], folder: Path) -> int:
    """End it, and wait until nothing of it is left. The exit code."""
    running = family(process, folder)
    assert len(running) > 8  # Postgres alone has as many
    kill()
    code = process.wait(timeout=30)
    _, alive = psutil.wait_procs(running, timeout=5)
    assert alive == []
    return code


def test_a_pasted_curl_works_and_the_data_survive_each_way_to_end(start: Start, folder: Path) -> None:
    command = [*RUN, "--folder", str(folder)]

    first = start(command)
    lines = read_until(first, "Ctrl-C")
    assert "202" in (answer := paste(lines))
    assert json.loads(answer.splitlines()[-1])["id"] == 1
    assert "Ada" in read_until(first, "Ada")[-1]
    assert end(first, first.terminate, folder) == 0
    secrets = (folder / "settings.env").read_text()

    second = start(["make", "-o", ".venv/run.stamp", "run", f"ARGS=--folder {shlex.quote(str(folder))}"])
    lines = read_until(second, "Ctrl-C")
    assert json.loads(paste(lines).splitlines()[-1])["id"] == 2
    (child,) = psutil.Process(second.pid).children()
    assert end(second, lambda: child.send_signal(signal.SIGTERM), folder) == 0

    third = start(command)
    lines = read_until(third, "Ctrl-C")
    assert json.loads(paste(lines).splitlines()[-1])["id"] == 3
    assert end(third, lambda: os.killpg(third.pid, signal.SIGINT), folder) == 0
    assert (folder / "settings.env").read_text() == secrets


def test_a_second_run_in_the_same_folder_is_refused_and_disturbs_nothing(start: Start, folder: Path) -> None:
    first = start([*RUN, "--folder", str(folder)])
    lines = read_until(first, "Ctrl-C")
    second = start([*RUN, "--folder", str(folder)])
    assert "another local run" in second.communicate(timeout=30)[0]
    assert second.returncode == 1
    assert "202" in paste(lines)
    assert end(first, first.terminate, folder) == 0


def test_lines_can_be_had_as_json(start: Start, folder: Path, database_url: str) -> None:
    process = start([*RUN, "--json", "--folder", str(folder)], DATABASE_URL=database_url, TELEGRAM_BOT_TOKEN="1:x")
    lines = read_until(process, "Ctrl-C")
    assert "the one of DATABASE_URL" in "".join(lines)
    assert "the bot of TELEGRAM_BOT_TOKEN" in "".join(lines)
    assert database_url not in "".join(lines)
    paste(lines)
    shown = json.loads(read_until(process, "Ada")[-1])
    assert shown["function"] == "drain"
    assert json.loads(shown["line"])["kind"] == "site.form"
    process.terminate()
    assert process.wait(timeout=30) == 0


def test_told_to_end_while_it_starts_it_ends(start: Start, folder: Path) -> None:
    process = start([*RUN, "--folder", str(folder)])
    until = time.monotonic() + 30
    while not psutil.Process(process.pid).children():
        assert time.monotonic() < until
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=30) == 0
    assert working_in(folder) == []


def test_a_taken_port_is_named_and_nothing_is_left(start: Start, folder: Path, database_url: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        process = start([*RUN, "--folder", str(folder)], PORT=port, DATABASE_URL=database_url)
        assert f"cannot start: port {port}" in process.communicate(timeout=30)[0]
    assert process.returncode == 1


@pytest.mark.parametrize("port", ["many", "65536", "-1"])
def test_a_port_that_is_none_is_refused(start: Start, port: str) -> None:
    process = start(RUN, PORT=port)
    assert re.search(f"PORT must be a number.*{port}", process.communicate(timeout=30)[0])
    assert process.returncode == 1
