"""tidemill as a process of its own: in a pipe, at a terminal, interrupted, and completed by a shell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tidemill.wire import Connection

from tests.functions.calling import COMMAND, Terminal, add_failed, environment, run

COLOUR = "\x1b[3"


def test_what_is_piped_is_not_coloured_and_not_folded(operated: pytest.MonkeyPatch, connection: Connection) -> None:
    operated.delenv("COLUMNS")
    add_failed(connection, last_error="the order has no number " * 8)
    result = run("failed")
    assert result.returncode == 0
    assert "\x1b" not in result.stdout
    assert "the order has no number " * 7 in result.stdout


def test_a_terminal_is_coloured_unless_no_color_is_set(operated: object) -> None:
    """https://no-color.org"""
    coloured, plain = Terminal("retry", "99"), Terminal("retry", "99", NO_COLOR="1")
    assert (coloured.end(), plain.end()) == (1, 1)
    assert COLOUR in coloured.text and "there is no job 99" in coloured.text
    assert COLOUR not in plain.text and "there is no job 99" in plain.text


def test_a_reader_that_has_read_enough_is_no_error(operated: object, connection: Connection) -> None:
    connection.execute(
        "insert into jobs (kind, status, finished_at, last_error)"
        " select 'a', 'failed', now(), repeat('x', 250) from generate_series(1, 500)"
    )
    command = " ".join([*COMMAND, "failed", "--limit", "500"])
    result = subprocess.run(
        ["bash", "-c", f"{command} | head -1"], env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert result.stdout.strip() == "jobs"
    assert "Traceback" not in result.stderr and "Error" not in result.stderr


def test_tail_follows_until_it_is_interrupted(operated: object, connection: Connection) -> None:
    terminal = Terminal("tail", "--every", "0.2")
    terminal.wait_for("following; Ctrl-C ends it")
    connection.execute("insert into events (source, body, route_error) values ('shop', '', 'KeyError: number\nmore')")
    job = add_failed(connection)
    connection.execute(
        "insert into job_errors (job_id, attempt, error_class, error) values (%s, 1, 'KeyError', 'number')", [job]
    )
    connection.execute("insert into operations (by, command) values ('ann', 'retry')")
    terminal.wait_for("shop  no jobs: KeyError: number")
    terminal.wait_for(f"job {job}")
    terminal.wait_for("failed: KeyError: number")
    terminal.wait_for("retry {}")
    terminal.signal(signal.SIGINT)
    assert terminal.end() == 0
    assert "Traceback" not in terminal.text and "more" not in terminal.text


def test_tail_for_programs_is_a_line_of_json_each(operated: object, connection: Connection) -> None:
    process = subprocess.Popen(
        [*COMMAND, "tail", "--json", "--every", "0.2"],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    assert "following" in process.stderr.readline()
    connection.execute("insert into events (source, body) values ('shop', '')")
    assert json.loads(process.stdout.readline())["source"] == "shop"
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    assert process.stderr.read() == ""


def test_tail_that_cannot_begin_says_why() -> None:
    away = "postgresql://ann:hush-hush-hush@127.0.0.1:1/none"
    result = run("tail", DATABASE_URL=away, AUTOMATIONS="tests.functions.operated")
    assert result.returncode == 3
    assert "OperationalError" in result.stderr and "hush" not in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_a_script_that_completes(shell: str) -> None:
    result = run(_TIDEMILL_COMPLETE=f"source_{shell}")
    assert result.returncode == 0 and "_TIDEMILL_COMPLETE" in result.stdout


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    """With the script that it gets, in a real bash."""
    script = tmp_path / "complete.bash"
    script.write_text(run(_TIDEMILL_COMPLETE="source_bash").stdout)
    program = tmp_path / "tidemill"
    program.write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    program.chmod(0o755)

    def completed(*words: str) -> list[str]:
        typed = " ".join(f"'{word}'" for word in words)
        commands = f"source {script}; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _tidemill_completion tidemill;"
        env = environment(PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        done = subprocess.run(
            ["bash", "-c", f'{commands} printf "%s\\n" "${{COMPREPLY[@]}}"'],
            env=env, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        return done.stdout.split()

    assert sorted(completed("tidemill", "re")) == ["rejected", "replay", "restart", "resume", "retry"]
    assert "--dry-run" in completed("tidemill", "retry", "--d")


def test_nothing_of_the_command_line_is_needed_by_a_function() -> None:
    """typer and rich are not in the layer."""
    program = (
        "import sys; sys.modules['typer'] = sys.modules['rich'] = None\n"
        "import functions.intake.app, functions.drain.app, functions.schedule.app, functions.replay.app\n"
        "from tidemill import app\n"
        "app.load({'DATABASE_URL': 'postgresql:///x', 'AUTOMATIONS': 'tests.functions.operated'}).operator\n"
        "assert not [name for name in sys.modules if name.startswith('tidemill.cli')]"
    )
    command = [COMMAND[0], "-c", program]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
