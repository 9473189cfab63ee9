"""The way from a process to Postgres, which can fail: a TCP port on 127.0.0.1 before the server's unix socket."""

from __future__ import annotations

import re
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress

_PIECE = 1 << 16
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER without lingering: the other side sees a reset and not an end


class Link:
    """Forwards connections from the moment it is made until `close`; `port` is where it listens.

    A piece that is held goes on in order when the hold is over, so a statement may reach the server long after it was sent.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._pairs: set[_Pair] = set()
        self._held_until = 0.0
        self._losses = 0
        self._word: re.Pattern[bytes] | None = None
        self._word_seconds = 0.0
        self.lost = 0  # answers that were lost
        self.heard = b""
        threading.Thread(target=self._accept, name=f"link {self.port}", daemon=True).start()

    def cut(self) -> int:
        """Cut all connections; answers how many there were."""
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            pair.cut()
        return len(pairs)

    def lose_answer(self) -> None:
        """The next thing that the server says is lost, and the connection with it: what it was asked to do is done."""
        with self._lock:
            self._losses += 1

    def hold(self, seconds: float) -> None:
        """Nothing gets through for so long."""
        self._held_until = max(self._held_until, time.monotonic() + seconds)

    def hold_from(self, word: re.Pattern[bytes], seconds: float) -> None:
        """Hold for so long from the next piece on that goes to the server and has this word in it; `heard` is its group."""
        self.heard = b""
        self._word, self._word_seconds = word, seconds

    def heal(self) -> None:
        """Everything gets through from now on."""
        self._held_until = 0.0
        self._word = None
        with self._lock:
            self._losses = 0

    def close(self) -> None:
        self.heal()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                try:
                    server.connect(self._server)
                except OSError:  # the server is down
                    client.close()
                    server.close()
                    continue
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                pair = _Pair(client, server)
                with self._lock:
                    self._pairs.add(pair)
                self._pump(pair, client, server, self._hears)
                self._pump(pair, server, client, self._loses)

    def _pump(self, pair: _Pair, source: socket.socket, sink: socket.socket, loses: Callable[[bytes], bool]) -> None:
        def run() -> None:
            with suppress(OSError):
                while (piece := source.recv(_PIECE)) and not loses(piece):
                    while (left := self._held_until - time.monotonic()) > 0:
                        time.sleep(min(left, 0.05))
                    sink.sendall(piece)
            pair.cut()
            with self._lock:
                self._pairs.discard(pair)

        threading.Thread(target=run, name=f"link {self.port} pump", daemon=True).start()

    def _hears(self, piece: bytes) -> bool:
        if (word := self._word) is not None and (found := word.search(piece)):
            self._word = None
            self.heard = found[1]
            self.hold(self._word_seconds)
        return False

    def _loses(self, piece: bytes) -> bool:
        with self._lock:
            if not self._losses:
                return False
            self._losses -= 1
            self.lost += 1
            return True


class _Pair:
    """The two ends of one connection, which end together."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self._client, self._server = client, server

    def cut(self) -> None:
        with suppress(OSError):
            self._client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        for end in (self._client, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)  # wakes the pump that is reading from it
            end.close()
