"""What `sam build` made, run under the real Lambda runtime client with nothing but that: `make check-deploy`.

LAMBDA_PYTHON names an interpreter; else it is python3.13, as in Lambda, and where there is none the one that runs the tests.
The built dependencies are for arm64. Where this machine is another, the same pins are installed for it in their place.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from local.sandbox import Answer, Sandbox
from local.server import Handler, Server
from local.telegram import Telegram
from local.template import Function, read

ROOT = Path(__file__).parents[2]
BUILD = ROOT / ".aws-sam/build"
DEPENDENCIES = BUILD / "DependenciesLayer/python"
MOST_BYTES = 30_000_000
ARM64 = 183  # e_machine of an ELF file

FUNCTIONS = {one.name: one for one in read(BUILD / "template.yaml").functions}
EVENTS = sorted(path.name for path in (ROOT / "events").glob("*.json"))
ALSO = {"schedule.json": ["drain", "relay"]}  # what else takes the event of this name

SETTINGS = {
    "SITE_WEBHOOK_SECRET": "site-test-secret",
    "TELEGRAM_WEBHOOK_SECRET": "telegram-test-secret",
    "TELEGRAM_BOT_TOKEN": "1:of-the-built",
    "TELEGRAM_ALERT_CHAT_ID": "7",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9",  # nobody is there: no test of the built reaches AWS
    "AWS_ENDPOINT_URL_LAMBDA": "http://127.0.0.1:9",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def version(python: str) -> str:
    """3.13 of an interpreter, '' of what is none."""
    try:
        command = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def find_python() -> str:
    base: str = sys._base_executable  # type: ignore[attr-defined]  # not the environment's, in which all of the tests' is
    candidates = [os.environ.get("LAMBDA_PYTHON") or "python3.13", base]
    return next(one for one in candidates if version(one))


PYTHON = find_python()


@pytest.fixture(scope="session")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The runtime's own packages, and the built dependencies, for this machine's interpreter."""
    folder = tmp_path_factory.mktemp("lambda")
    uv = [str(ROOT / ".venv-sam/bin/uv"), "pip", "install", "--quiet", "--python", shutil.which(PYTHON) or PYTHON]
    wanted = {"runtime": ["-c", str(ROOT / "requirements.lock"), "awslambdaric", "boto3"]}
    wanted["dependencies"] = ["-r", str(ROOT / "layers/dependencies/requirements.txt")]
    for name, what in wanted.items():
        subprocess.run([*uv, "--only-binary", ":all:", "--target", str(folder / name), *what], check=True)
    return [folder / "runtime", folder / "dependencies"]


@pytest.fixture
def start(paths: list[Path]) -> Iterator[Callable[..., Sandbox]]:
    """`start(name, **settings)` starts a process of a function, whose lines go to `start.lines`."""
    started: list[Sandbox] = []

    def make(name: str, **settings: str) -> Sandbox:
        function = replace(FUNCTIONS[name], timeout=min(FUNCTIONS[name].timeout, 30))
        code = [path for path in function.paths if path != DEPENDENCIES]
        path = ":".join(map(str, [*code, *paths[::-1]]))
        environment = {**function.environment, **SETTINGS, **settings, "PYTHONPATH": path, "PATH": os.environ["PATH"]}
        started.append(Sandbox(function, environment, print, lambda: None, (PYTHON, "-S")))
        return started[-1]

    yield make
    for one in started:
        one.kill()
        one.join()


def invoke(sandbox: Sandbox, event: object) -> Answer:
    answer = sandbox.invoke(json.dumps(event).encode())
    assert answer is not None
    return answer


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


def layers(function: Function) -> set[Path]:
    return {path.parent for path in function.paths} | ({ROOT / "sql"} if function.name == "migrate" else set())


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_what_a_function_unpacks_is_small(name: str) -> None:
    """Lambda allows 250 MB, and loads what is there."""
    unpacked = [FUNCTIONS[name].folder, *layers(FUNCTIONS[name])]
    assert DEPENDENCIES.parent in unpacked
    assert 1_000_000 < sum(path.stat().st_size for folder in unpacked for path in files(folder)) < MOST_BYTES


def test_what_is_compiled_is_for_lambdas_processor_and_python() -> None:
    libraries = [path for path in files(DEPENDENCIES) if ".so" in path.suffixes]
    assert libraries
    for path in libraries:
        head = path.read_bytes()[:20]
        assert head[:4] == b"\x7fELF" and int.from_bytes(head[18:20], "little") == ARM64, path
        assert "cpython" not in path.name or "cpython-313" in path.name


def test_the_built_dependencies_are_the_pinned_ones(paths: list[Path]) -> None:
    """The copy for this machine differs in nothing but the processor."""
    built, here = ({path.name for path in folder.glob("*.dist-info")} for folder in (DEPENDENCIES, paths[1]))
    assert built == here


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_starts_with_nothing_but_what_was_built(
    name: str, start: Callable[..., Sandbox], database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it answers is another test's; here it must import and take an event. How long that took is shown."""
    began = time.perf_counter()
    answer = invoke(start(name, DATABASE_URL=database_url), {"Records": []})
    with capsys.disabled():
        print(f"  {name}: cold start {time.perf_counter() - began:.2f} s on Python {version(PYTHON)}")
    assert b"ImportModuleError" not in answer.payload and b"ModuleNotFoundError" not in answer.payload
    assert not answer.failed or name == "alarm", answer.payload  # whose event is none


class CloudFormation(Handler):
    """Takes the answer of the custom resource."""

    taken: list[dict[str, Any]]

    def respond(self) -> None:
        self.taken.append(json.loads(self.read_body(1 << 20) or b"{}"))
        self.answer_json(200, "{}")


def targets() -> list[tuple[str, str]]:
    """Each event with each function that takes it."""
    return [(event, name) for event in EVENTS for name in [event.split(".")[0].split("-")[0], *ALSO.get(event, [])]]


@pytest.mark.parametrize(("event", "name"), targets())
def test_an_example_event_runs(event: str, name: str, start: Callable[..., Sandbox], database_url: str) -> None:
    content = json.loads((ROOT / "events" / event).read_text("utf-8"))
    telegram = Telegram(lambda line: None)
    handler = type("Taking", (CloudFormation,), {"taken": []})
    with Server(handler) as cloudformation:
        if "ResponseURL" in content:
            content["ResponseURL"] = f"{cloudformation.url}/answer"
        sandbox = start(name, DATABASE_URL=database_url, TELEGRAM_API=telegram.url, SQL_FOLDER=str(ROOT / "sql"))
        answer = invoke(sandbox, content)
    telegram.close()
    assert not answer.failed, answer.payload
    assert [one["Status"] for one in handler.taken] == (["SUCCESS"] if name == "migrate" else [])
    if name == "intake":
        assert json.loads(answer.payload)["statusCode"] == 202
