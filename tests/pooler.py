"""pgbouncer in transaction mode before a Postgres on a unix socket. Needs the program `pgbouncer` (Debian: the package)."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

import psycopg

from local.postgres import Postgres


class Pooler:
    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self._folder = Path(tempfile.mkdtemp(prefix="tidemill-pooler-"))
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self._port}/{database}"

    def __enter__(self) -> Pooler:
        program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        if program is None:
            raise RuntimeError("the program pgbouncer is needed for --pooler")
        host = psycopg.conninfo.conninfo_to_dict(self._postgres.url())["host"]
        (self._folder / "users.txt").write_text('"postgres" ""\n')
        (self._folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={host}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self._port}\n"
            f"unix_socket_dir =\nauth_type = trust\nauth_file = {self._folder}/users.txt\npool_mode = transaction\n"
            "default_pool_size = 40\nmax_client_conn = 500\nserver_idle_timeout = 5\nserver_login_retry = 1\n"
        )
        command = [program, "-q", str(self._folder / "pgbouncer.ini")]
        if os.geteuid() == 0:  # it refuses to run as root, and so did the server: both run as the server's user
            for path in (self._folder, *self._folder.iterdir()):
                path.chmod(0o755)
            command[1:1] = ["-u", "pgserver"]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
                return self
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.05)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
        shutil.rmtree(self._folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
