"""An intake in a process of its own, which kills itself at a step: `python -m tests.functions.intake.child URL STEP`.

It reads an event from stdin and writes the answer to stderr.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from tidemill.db import Database
from tidemill.wire import Row

from tests.functions.intake import sources
from tests.functions.intake.direct import intake

STEPS = ("verified", "routed", "before the statement", "after the statement", "waking", "answered")


class DyingDatabase(Database):
    def execute(self, name: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        reach("before the statement")
        rows = super().execute(name, parameters)
        reach("after the statement")
        return rows


def reach(step: str) -> None:
    if sys.argv[2] == step:
        os.kill(os.getpid(), signal.SIGKILL)


def main(url: str) -> None:
    check = sources.shop.check

    def checked(*given: Any) -> Any:
        verdict = check(*given)
        reach("verified")
        return verdict

    sources.shop.check = checked  # type: ignore[method-assign]
    sources.shop.route(lambda event: reach("routed"))
    answer = intake(DyingDatabase(url), lambda: reach("waking")).handle(json.load(sys.stdin), None)
    sys.stderr.write(json.dumps(answer))
    sys.stderr.flush()
    reach("answered")


if __name__ == "__main__":
    main(sys.argv[1])
