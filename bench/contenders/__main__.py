"""One contender in a process of its own: `python -m bench.contenders NAME COUNT`, with DATABASE_URL.

It fills its line, connects, says `ready`, waits for a line on stdin, drains, and says how many seconds that took.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time


def main() -> None:
    name, count = sys.argv[1], int(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a worker logs is written, and read by nobody
    drain = importlib.import_module(f"bench.contenders.{name}").ready(os.environ["DATABASE_URL"], count)
    answers.write("ready\n")
    answers.flush()
    sys.stdin.readline()
    began = time.perf_counter()
    done = drain()
    seconds = time.perf_counter() - began
    told = done if isinstance(done, dict) else {"done": done}
    answers.write(json.dumps({"seconds": seconds, **told}) + "\n")
    answers.flush()
    sys.stdin.readline()  # so that what the process has used can be read
    os._exit(0)


if __name__ == "__main__":
    main()
