"""A unix socket in front of the server's that delays what passes, each way by half of the round trip."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from urllib.parse import parse_qs, quote, urlsplit

SOCKET = ".s.PGSQL.5432"


class Delayed:
    def __init__(self, url: str, round_trip: float) -> None:
        """`round_trip` in seconds."""
        parts = urlsplit(url)
        self._server = str(Path(parse_qs(parts.query)["host"][0]) / SOCKET)
        self._database = parts.path[1:]
        self._delay = round_trip / 2
        self._folder = tempfile.TemporaryDirectory(prefix="tidemill-delay-")
        self._listener = socket.socket(socket.AF_UNIX)

    def __enter__(self) -> str:
        """The address of the same database, further away."""
        self._listener.bind(str(Path(self._folder.name) / SOCKET))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        return f"postgresql://postgres@/{self._database}?host={quote(self._folder.name, safe='')}"

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._listener.close()
        self._folder.cleanup()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._server)
            for source, target in ((near, far), (far, near)):
                passing: SimpleQueue[tuple[float, bytes]] = SimpleQueue()
                threading.Thread(target=self._take, args=(source, passing), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(passing, target), daemon=True).start()

    def _take(self, source: socket.socket, passing: SimpleQueue[tuple[float, bytes]]) -> None:
        data = b"-"
        while data:
            try:
                data = source.recv(1 << 20)
            except OSError:
                data = b""
            passing.put((time.monotonic() + self._delay, data))

    def _pass_on(self, passing: SimpleQueue[tuple[float, bytes]], target: socket.socket) -> None:
        while True:
            due, data = passing.get()
            time.sleep(max(due - time.monotonic(), 0))
            try:
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)
            except OSError:
                return
