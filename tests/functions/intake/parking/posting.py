"""A container that posts to its intake until its stdin ends: `python -m tests.functions.intake.parking.posting NAME`.

Each answer of 202 is a line on stderr: the body's number, and whether it was parked.
"""

from __future__ import annotations

import json
import select
import sys
from itertools import count

from functions.intake.app import handler
from tests.functions.intake.conftest import delivery


def main(name: str) -> None:
    for number in count():
        if select.select([sys.stdin], [], [], 0.002)[0]:
            return
        keyed = number % 2 == 0
        body = {"orders": [f"{name}-{number}"]}
        answer = handler(delivery(body, f"{name}-{number}" if keyed else None), None)
        if answer["statusCode"] == 202:
            sys.stderr.write(f"{name}-{number} {'parked' in json.loads(answer['body'])}\n")
            sys.stderr.flush()


if __name__ == "__main__":
    main(sys.argv[1])
