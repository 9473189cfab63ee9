"""How the relay packs rows: by number and by bytes."""

from __future__ import annotations

import pytest
from tidemill import outlets
from tidemill.db import Database
from tidemill.outbox import Target
from tidemill.outlets import LARGEST, Outgoing
from tidemill.wire import Connection

from tests.functions.conftest import Told
from tests.functions.relaying import QUEUE, Client, MakeRelay, publish, state


def outgoing(number: int, size: int, char: str = "x") -> Outgoing:
    """A row of so many bytes in all."""
    empty = Outgoing(number, "t", "", {"id": "1"}, 1)
    return empty._replace(body=char * ((size - empty.size()) // len(char.encode())))


def test_a_row_is_as_large_as_sqs_counts_it() -> None:
    """B93: bytes, not characters; names, types and values of attributes too."""
    assert Outgoing(1, "t", "é", {"id": "12"}, 1).size() == 2 + len("id") + len("String") + len("12")


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [
        ([150_000] * 10, [6, 4]),
        ([100] * 48, [10, 10, 10, 10, 8]),
        ([LARGEST], [1]),
        ([LARGEST // 2] * 2, [2]),
        ([LARGEST // 2, LARGEST // 2 + 30], [1, 1]),
        ([], []),
    ],
)
@pytest.mark.parametrize("char", ["x", "é"])
def test_batches_are_split_by_number_and_by_bytes(rows: list[int], sizes: list[int], char: str) -> None:
    """B93: 10 rows of 150 kB, 48 rows, multibyte just under the limit."""
    made = list(outlets.batches(Target("sqs", QUEUE), [outgoing(number, size, char) for number, size in enumerate(rows)]))
    assert [len(batch) for batch in made] == sizes
    assert all(sum(row.size() for row in batch) <= LARGEST for batch in made)
    assert [row.id for batch in made for row in batch] == list(range(len(rows)))


def test_a_row_over_the_limit_is_set_aside_and_the_rest_flow(
    connection: Connection, make_relay: MakeRelay, told: Told
) -> None:
    """B93"""
    ids = [publish(connection, payload) for payload in ("x" * (LARGEST - 100), 1, "x" * LARGEST, "é" * (LARGEST // 2), 2)]
    client = Client()
    assert make_relay(client).handle(None, None) == {"ok": True, "sent": 3, "retried": 0, "failed": 2}
    assert [failed for _, failed, *_ in state(connection)] == [False, False, True, True, False]
    assert {error for *_, error in state(connection) if error} == {f"over {LARGEST} bytes with its attributes"}
    [text] = told.texts
    assert f"{ids[2]}, {ids[3]} was set aside: over {LARGEST} bytes" in text and "'orders'" in text


def test_the_attributes_that_the_relay_adds_count_too(connection: Connection, make_relay: MakeRelay) -> None:
    """B93"""
    row = Outgoing(1, "orders", "", {"id": "1", "topic": "orders", "correlation_id": "c-1"}, 1)
    fits = LARGEST - row.size() - len('""')
    for length in (fits, fits + 1):
        publish(connection, "x" * length)
    assert make_relay(Client()).handle(None, None) == {"ok": True, "sent": 1, "retried": 0, "failed": 1}
    assert [failed for _, failed, *_ in state(connection)] == [False, True]


def test_a_claim_takes_only_what_fits_into_memory(connection: Connection, database_url: str) -> None:
    for _ in range(5):
        publish(connection, "x" * 1000)
    database = Database(database_url)
    sizes = []
    while rows := database.execute("outbox_claim", {"size": 10, "bytes": 2_500, "largest": 900_000, "lease": 60}):
        sizes.append(len(rows))
    assert sizes == [3, 2]
    database.close()
