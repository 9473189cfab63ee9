"""Running contenders, each in a process of its own on a fresh database of one server, and what each used of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

from bench.delay import Delayed
from bench.lines import ROOT, schema
from local.postgres import Postgres

PEERS = ROOT / ".venv-bench/bin/python"
NODE = ROOT / "bench/node/node_modules/node/bin/node"


@dataclass(frozen=True)
class Used:
    """What draining used: seconds in all; CPU seconds of the contender and of the server; bytes of WAL; the contender's
    greatest memory in bytes."""

    done: int
    seconds: float
    client: float
    server: float
    wal: int
    memory: int
    told: Mapping[str, Any]  # what else the contender said

    @property
    def rate(self) -> float:
        return self.done / self.seconds


class Server:
    """An embedded server with the durability it comes with, and fresh databases of it."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self._number = 0
        with self._admin() as admin:
            self._pid = int(_one(admin, "select pg_read_file('postmaster.pid')").split()[0])

    @contextmanager
    def database(self) -> Iterator[str]:
        """The address of a fresh database, which is dropped afterwards."""
        self._number += 1
        name = f"bench_{self._number}"
        with self._admin() as admin:
            admin.execute(f"create database {name}")
        try:
            yield self._postgres.url(name)
        finally:
            with self._admin() as admin:
                admin.execute(f"drop database {name} with (force)")
                admin.execute("checkpoint")  # so that the next does not pay for what this one wrote

    def wal(self) -> int:
        with self._admin() as admin:
            return int(_one(admin, "select pg_current_wal_insert_lsn() - '0/0'"))

    def cpu(self) -> float:
        """CPU seconds of the server and all its processes, those that have ended included."""
        postmaster = psutil.Process(self._pid)
        while True:
            times = postmaster.cpu_times()
            seconds = times.user + times.system + times.children_user + times.children_system
            for child in postmaster.children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    used = child.cpu_times()
                    seconds += used.user + used.system
            now = postmaster.cpu_times()
            if (now.children_user, now.children_system) == (times.children_user, times.children_system):
                return seconds  # none has ended meanwhile, to be counted twice or not at all

    def run(self, name: str, count: int, round_trip: float = 0.0, **environ: str) -> Used:
        """What a contender used to drain `count` jobs, `round_trip` seconds away from the database. Raises RuntimeError with
        its words where it fails."""
        with self.database() as url, Delayed(url, round_trip) if round_trip else nullcontext(url) as address:
            return measured(self, command(name, count), {"DATABASE_URL": address, **environ})

    def run_together(self, name: str, count: int, processes: int) -> float:
        """How many a second so many contenders get done together on one database."""
        with self.database() as url, ThreadPoolExecutor(processes) as pool:
            schema(url)
            environ = {"DATABASE_URL": url}
            used = list(pool.map(lambda _: measured(self, command(name, count), environ), range(processes)))
            return sum(one.rate for one in used)

    def _admin(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self._postgres.url(), autocommit=True)


def command(name: str, count: int) -> list[str]:
    if (ROOT / f"bench/node/{name}.mjs").exists():
        return [str(NODE), str(ROOT / "bench/node/contender.mjs"), name, str(count)]
    own = name not in ("pgqueuer", "procrastinate")
    return [sys.executable if own else str(PEERS), "-m", "bench.contenders", name, str(count)]


def available(name: str) -> bool:
    """Whether what the contender needs was installed (`make bench` tries)."""
    return Path(command(name, 0)[0]).exists()


def measured(server: Server, arguments: list[str], environ: Mapping[str, str]) -> Used:
    process = subprocess.Popen(
        arguments, cwd=ROOT, env={**os.environ, **environ}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        if process.stdout.readline() != "ready\n":
            process.kill()
            raise RuntimeError(f"{arguments[-2]} did not get ready: {process.stderr.read()[-2000:]}")
        client, wal, cpu = psutil.Process(process.pid), server.wal(), server.cpu()
        before = _cpu(client)
        print("go", file=process.stdin, flush=True)
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"{arguments[-2]} failed: {process.stderr.read()[-2000:]}")
        answer = json.loads(line)
        spent = _cpu(client) - before
        used = Used(
            answer["done"], answer["seconds"], spent, server.cpu() - cpu, server.wal() - wal, peak(process.pid), answer
        )
        print("end", file=process.stdin, flush=True)
        process.wait(30)
    return used


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def peak(pid: int) -> int:
    """The greatest memory that the process has had, in bytes (Linux)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _one(connection: psycopg.Connection[Any], query: str) -> Any:
    row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]
