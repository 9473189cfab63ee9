"""A link lets through what it is given, and fails in the ways that it is told to."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.links import Link


@pytest.fixture
def link() -> Iterator[Link]:
    """A link to a server that says everything again, and counts what it was told in `heard`."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        address = str(Path(folder) / "socket")
        server.bind(address)
        server.listen()
        heard: list[bytes] = []

        def echo(one: socket.socket) -> None:
            with one:
                while piece := one.recv(100):
                    heard.append(piece)
                    one.sendall(piece)

        def serve() -> None:
            while True:
                try:
                    one, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=echo, args=(one,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        link = Link(address)
        link.__dict__["heard"] = heard
        yield link
        link.close()
        server.shutdown(socket.SHUT_RDWR)


def connect(link: Link) -> socket.socket:
    return socket.create_connection(("127.0.0.1", link.port), timeout=10)


def said(client: socket.socket) -> bytes:
    """What comes next; nothing where the connection was cut."""
    try:
        return client.recv(100)
    except ConnectionResetError:
        return b""


def test_a_healthy_link_changes_nothing(link: Link) -> None:
    with connect(link) as one, connect(link) as other:
        for client, text in ((one, b"a"), (other, b"b"), (one, b"c")):
            client.sendall(text)
            assert said(client) == text


def test_a_cut_ends_all_connections_and_the_next_one_gets_through(link: Link) -> None:
    with connect(link) as client:
        client.sendall(b"a")
        assert said(client) == b"a"
        assert link.cut() == 1
        assert said(client) == b""
    with connect(link) as client:
        client.sendall(b"b")
        assert said(client) == b"b"


def test_an_answer_is_lost_after_the_server_has_done_what_it_was_asked(link: Link) -> None:
    with connect(link) as client:
        link.lose_answer()
        client.sendall(b"a")
        assert (said(client), link.__dict__["heard"], link.lost) == (b"", [b"a"], 1)


def test_what_is_held_arrives_when_the_hold_is_over(link: Link) -> None:
    with connect(link) as client:
        link.hold(60)
        client.sendall(b"a")
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(100)
        link.heal()
        client.settimeout(10)
        assert said(client) == b"a"


def test_a_server_that_is_away_is_a_connection_that_ends_at_once() -> None:
    link = Link("/nowhere/socket")
    with connect(link) as client:
        assert said(client) == b""
    link.close()


def test_a_closed_link_takes_no_connection(link: Link) -> None:
    link.close()
    until = time.monotonic() + 10
    with pytest.raises(ConnectionRefusedError):
        while time.monotonic() < until:
            connect(link).close()
