"""A small HTTP server, for everything that listens here: the gateway, the Lambda APIs, the stand-in for Telegram."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from types import TracebackType

_LARGEST_CHUNK_LINE = 1024


class Handler(BaseHTTPRequestHandler, ABC):
    """Answers come as one packet: buffered, and without waiting for an acknowledgement (88 ms a call otherwise)."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    headers: HTTPMessage

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name.startswith("do_"):  # whatever the method, one function answers it
            return self.respond
        raise AttributeError(name)

    @abstractmethod
    def respond(self) -> None:
        """Answer the request: `command` is its method."""

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def read_body(self, most: int) -> bytes | None:
        """The body of the request; None where it is over `most` bytes. Raises ValueError when it is malformed."""
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return self._read_chunks(most)
        length = int(self.headers.get("Content-Length", "0"))
        if length < 0:
            raise ValueError("a negative Content-Length")
        if length > most:
            return None
        body = self.rfile.read(length)
        if len(body) < length:
            raise ValueError("the body ended early")
        return body

    def _read_chunks(self, most: int) -> bytes | None:
        body = b""
        while size := int(self.rfile.readline(_LARGEST_CHUNK_LINE).split(b";")[0], 16):
            if size < 0:
                raise ValueError("a negative chunk")
            if len(body) + size > most:
                return None
            body += self.rfile.read(size)
            self.rfile.readline(_LARGEST_CHUNK_LINE)
        while self.rfile.readline(_LARGEST_CHUNK_LINE).strip():
            pass
        return body

    def answer(self, status: int, headers: list[tuple[str, str]], body: bytes = b"", *, close: bool = False) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        if close:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer_json(self, status: int, text: str, *headers: tuple[str, str], close: bool = False) -> None:
        self.answer(status, [("Content-Type", "application/json"), *headers], text.encode(), close=close)


class Server(ThreadingHTTPServer):
    """Serves from the moment it is made until `close`. Port 0 takes a free one; `port` says which. Raises OSError."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, handler: type[Handler], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.port: int = self.server_address[1]
        threading.Thread(target=self.serve_forever, args=(0.1,), name=f"server {self.port}", daemon=True).start()

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer's own also asks DNS for the machine's name, which can take seconds

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news."""

    def close(self) -> None:
        self.shutdown()
        self.server_close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
