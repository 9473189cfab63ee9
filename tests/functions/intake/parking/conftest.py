"""What the tests of parking share: a queue at moto's server, and an intake and an absorb function on either side of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tidemill.wire import Connection

from tests.functions.conftest import Queue
from tests.functions.intake.parking.world import World


@pytest.fixture
def queue(make_queue: Callable[..., Queue]) -> Queue:
    return make_queue("parking")


@pytest.fixture
def world(database_url: str, connection: Connection, queue: Queue) -> World:
    connection.execute("truncate parked, parked_parts, signals")
    return World(database_url, queue)
