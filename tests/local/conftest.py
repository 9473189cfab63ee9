"""Tiny functions in a template of their own, to try the local run itself."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from local.functions import Functions
from local.template import read

TEMPLATE = """
Resources:
  Tiny:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: !Sub "${{AWS::StackName}}-tiny"
      CodeUri: functions/tiny/
      Handler: app.handler
      Runtime: python3.13
      Timeout: {timeout}
      ReservedConcurrentExecutions: {concurrency}
"""


class Tiny:
    """A running function made of a few lines of code; its output is in `lines`."""

    def __init__(self, functions: Functions, lines: list[str]) -> None:
        self.functions = functions
        self.running = functions["tiny"]
        self.lines = lines

    def invoke(self, event: object) -> object:
        return self.functions.invoke("tiny", event)


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Callable[..., Tiny]]:
    """Makes a Tiny of the body of a module with `handler(event, context)`; `timeout` in seconds."""
    with ExitStack() as exits:

        def make(code: str, timeout: int = 20, concurrency: int = 2) -> Tiny:
            folder = tmp_path / "functions" / "tiny"
            folder.mkdir(parents=True)
            (folder / "app.py").write_text(textwrap.dedent(code))
            (tmp_path / "template.yaml").write_text(TEMPLATE.format(timeout=timeout, concurrency=concurrency))
            lines: list[str] = []
            template = read(tmp_path / "template.yaml")
            functions = Functions(template.functions, dict(os.environ), lambda name, line: lines.append(line))
            exits.callback(functions.close)
            return Tiny(functions, lines)

        yield make
