"""Cold starts under the real Lambda runtime client: from the start of the process to the answer to its first event."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tidemill import jsontext

from bench.deliveries import SECRET, body, format_2
from bench.lines import ROOT, schema
from bench.measure import Server
from local import template
from local.sandbox import Sandbox
from local.template import Function

BARE = "import psycopg\n\n\ndef handler(event, context):\n    return {}\n"


def measure(server: Server, rounds: int) -> dict[str, float]:
    """The median seconds of `intake`, and of `bare`: a handler that imports psycopg and does nothing, in turns."""
    intake = next(one for one in template.read(ROOT / "template.yaml").functions if one.name == "intake")
    paths = os.pathsep.join([*map(str, intake.paths), str(ROOT)])
    with server.database() as url, tempfile.TemporaryDirectory(prefix="tidemill-bench-") as folder:
        schema(url)
        (Path(folder) / "app.py").write_text(BARE)
        environment = {
            "PATH": os.environ["PATH"], "PYTHONPATH": paths, "DATABASE_URL": url, "AUTOMATIONS": "bench.automation",
            "BENCH_WEBHOOK_SECRET": SECRET,
        }  # fmt: skip
        functions = {"intake": intake, "bare": replace(intake, folder=Path(folder))}
        for one in functions.values():
            _cold(one, environment)  # the first start writes the byte code, which Lambda's layers have
        times: dict[str, list[float]] = {name: [] for name in functions}
        for _ in range(rounds):
            for name, one in functions.items():
                times[name].append(_cold(one, environment))
    return {name: statistics.median(taken) for name, taken in times.items()}


def _cold(function: Function, environment: Mapping[str, str]) -> float:
    event = jsontext.dumps(format_2(body())).encode()
    began = time.perf_counter()
    sandbox = Sandbox(function, environment, lambda line: None, lambda: None)
    answer = sandbox.invoke(event)
    taken = time.perf_counter() - began
    sandbox.kill()
    sandbox.join()
    if answer is None or answer.failed:
        raise RuntimeError(f"{function.name}: {answer.payload.decode() if answer else 'the process died'}")
    return taken
