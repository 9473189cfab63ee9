"""A drain that dies at a statement of a handler: `python -m tests.automations.dying before:N` (or `after:N`) is killed with
SIGKILL just before (after) the N-th statement that its handlers send."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

import psycopg
from tidemill import app


def main(step: str) -> None:
    when, _, number = step.partition(":")
    left = int(number)
    execute = psycopg.Cursor.execute

    def dying(self: Any, *arguments: Any, **options: Any) -> Any:
        nonlocal left
        if threading.current_thread() is threading.main_thread():  # the worker's own
            return execute(self, *arguments, **options)
        left -= 1
        if left == 0 and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = execute(self, *arguments, **options)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    psycopg.Cursor.execute = dying  # type: ignore[method-assign]
    app.current().drain.handle({}, None)


if __name__ == "__main__":
    main(sys.argv[1])
