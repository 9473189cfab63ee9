"""A relay that dies between any two steps: each row is accepted, and one that is sent again has the same id."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tidemill import outbox
from tidemill.db import Database
from tidemill.relay import Relay
from tidemill.telemetry import Log
from tidemill.wire import Connection

from tests.functions.conftest import Told
from tests.functions.relaying import QUEUE, publish
from tests.queue.dying import Death, DyingDatabase, in_a_process


class Provider:
    """An SQS that writes down the ids of the rows that it accepts; to send to it is a step."""

    def __init__(self, path: Path, death: Death | None = None) -> None:
        self._path = path
        self._death = death

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> Any:  # noqa: N803
        ids = "".join(f"{one['MessageAttributes']['id']['StringValue']}\n" for one in Entries)
        with self._death.step() if self._death else nullcontext(), self._path.open("a") as accepted:
            accepted.write(ids)
        return {"Successful": [{"Id": one["Id"]} for one in Entries]}


def relay(database: Database, provider: Provider) -> Relay:
    target = outbox.target(QUEUE)
    assert target is not None
    return Relay(database, {"orders": target}, Log(), Told(), lambda target: provider)  # type: ignore[arg-type]


@pytest.mark.parametrize("when", ["before", "after"])
def test_sigkill_between_any_two_steps_loses_no_row(
    connection: Connection, database_url: str, when: str, tmp_path: Path
) -> None:
    """B94"""
    for number in count(1):
        connection.execute("truncate outbox restart identity")
        ids = [publish(connection) for _ in range(25)]
        accepted = tmp_path / str(number)

        def live(number: int = number, accepted: Path = accepted) -> None:
            death = Death(when, number)
            dying = DyingDatabase(database_url, death, "outbox_claim", "outbox_settle")
            relay(dying, Provider(accepted, death)).handle(None, None)

        killed = in_a_process(live)
        connection.execute("update outbox set locked_until = now() - interval '1 second' where locked_until is not null")
        database = Database(database_url)
        relay(database, Provider(accepted)).handle(None, None)
        database.close()
        times = Counter(int(line) for line in accepted.read_text().splitlines())
        assert sorted(times) == ids and max(times.values()) <= (2 if killed else 1)
        rows = connection.execute("select count(*) from outbox where published_at is not null and locked_until is null")
        assert rows.fetchone() == (25,)
        if not killed:
            break
    assert number > 5  # claim, three batches, settle
