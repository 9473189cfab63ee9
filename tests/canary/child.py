"""The functions in a process of their own, one after the other: `python -m tests.canary.child`.

It reads a list of (function, event) from stdin. What a function answers or raises stands on stdout or stderr, as the runtime
of Lambda writes it. Two are no functions: `settings` changes the environment, `tidemill` is the command line.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from typing import Any

from tidemill import __main__ as command_line


class Context:
    """What Lambda tells of an invocation."""

    def get_remaining_time_in_millis(self) -> int:
        return int(os.environ["SECONDS_LEFT"]) * 1000


def call(function: str, event: Any) -> Any:
    if function == "settings":
        return os.environ.update(event)
    if function == "tidemill":
        sys.argv[1:] = event
        return command_line.main()
    return importlib.import_module(f"functions.{function}.app").handler(event, Context())


def main() -> None:
    for function, event in json.load(sys.stdin):
        try:
            said = {"answer": call(function, event)}
        except SystemExit as end:
            said = {"exit": end.code}
        except Exception:
            said = {"raised": True}
            traceback.print_exc()
        print(json.dumps({"function": function, **said}, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
