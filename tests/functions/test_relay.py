"""What becomes of rows: what was accepted is marked, the rest comes again or is set aside; none is skipped."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from tidemill.db import connect
from tidemill.relay import TELL_AT
from tidemill.wire import Connection

from tests.functions.conftest import Told
from tests.functions.relaying import QUEUE, RAN, SENT, Client, Context, MakeRelay, publish, refuse, state


def test_exactly_what_was_accepted_is_marked_and_the_rest_comes_again(connection: Connection, make_relay: MakeRelay) -> None:
    for number in range(4):
        publish(connection, number)

    def answer(entries: list[dict[str, Any]]) -> Any:
        ids = {one["MessageBody"]: one["Id"] for one in entries}
        failed = [
            {"Id": ids["1"], "SenderFault": False, "Code": "InternalError", "Message": "later"},
            {"Id": ids["2"], "SenderFault": True, "Code": "InvalidMessageContents", "Message": "never"},
        ]
        return {"Successful": [{"Id": ids["0"]}], "Failed": failed}  # and of one nothing is said

    assert make_relay(Client(answer)).handle(None, None) == {"ok": True, "sent": 1, "retried": 2, "failed": 1}
    assert state(connection) == [
        SENT,
        (False, False, 1, True, False, "InternalError: later"),
        (False, True, 1, False, False, "InvalidMessageContents: never"),
        (False, False, 1, True, False, "no answer for this row: "),
    ]
    connection.execute("update outbox set run_at = now()")
    client = Client()
    assert make_relay(client).handle(None, None) == {**RAN, "sent": 2}
    assert client.bodies() == [1, 3]


def test_the_wait_between_attempts_grows(connection: Connection, make_relay: MakeRelay) -> None:
    publish(connection)

    def answer(entries: list[dict[str, Any]]) -> Any:
        raise EndpointConnectionError(endpoint_url=QUEUE)

    relay = make_relay(Client(answer))
    waits = []
    for _ in range(3):
        connection.execute("update outbox set run_at = now()")
        assert relay.handle(None, None)["retried"] == 1
        [(wait,)] = connection.execute("select extract(epoch from run_at - now())::float8 from outbox").fetchall()
        waits.append(wait)
    assert 7 < waits[0] <= 10 and 15 < waits[1] <= 20 and 31 < waits[2] <= 40


@pytest.mark.parametrize("code", ["InvalidMessageContents", "AWS.SimpleQueueService.BatchRequestTooLong"])
def test_a_row_for_which_a_whole_batch_is_refused_holds_up_no_other(
    connection: Connection, make_relay: MakeRelay, code: str
) -> None:
    for number in range(3):
        publish(connection, number)
    assert make_relay(Client(refuse(code, "1"))).handle(None, None) == {"ok": True, "sent": 2, "retried": 0, "failed": 1}
    assert [published for published, *_ in state(connection)] == [True, False, True]


@pytest.mark.parametrize("code", ["AWS.SimpleQueueService.NonExistentQueue", "AccessDenied", "ThrottlingException", "500"])
def test_what_is_wrong_with_the_target_sets_no_row_aside(connection: Connection, make_relay: MakeRelay, code: str) -> None:
    for number in range(3):
        publish(connection, number)
    client = Client(refuse(code, "1"))
    assert make_relay(client).handle(None, None) == {"ok": True, "sent": 0, "retried": 3, "failed": 0}
    assert len(client.batches) == 1


def test_a_target_that_stays_away_is_told_once(connection: Connection, make_relay: MakeRelay, told: Told) -> None:
    publish(connection)
    relay = make_relay(Client(refuse("AccessDenied", "1")))
    for attempt in range(1, TELL_AT + 3):
        connection.execute("update outbox set run_at = now()")
        relay.handle(None, None)
        assert len(told.texts) == (attempt >= TELL_AT)
    assert "could not be sent 5 times" in told.texts[0] and "AccessDenied" in told.texts[0]


def test_an_error_is_kept_short_and_clean(connection: Connection, make_relay: MakeRelay) -> None:
    publish(connection)
    long = {"Id": "1", "SenderFault": True, "Code": "X", "Message": "\0" + "x" * 9000}
    make_relay(Client(lambda entries: {"Failed": [long]})).handle(None, None)
    [(*_, error)] = state(connection)
    assert len(error.encode()) <= 4096 and error.startswith("X: \ufffdx")


# Which rows


def test_a_row_whose_transaction_commits_late_is_not_skipped(
    connection: Connection, database_url: str, make_relay: MakeRelay
) -> None:
    """B94: state stands in each row, so there is no cursor that could have passed it."""
    client = Client()
    relay = make_relay(client)
    with connect(database_url) as late, late.transaction():
        first = publish(late, "late")
        assert publish(connection, "early") > first
        assert relay.handle(None, None)["sent"] == 1
    assert relay.handle(None, None)["sent"] == 1
    assert client.bodies() == ["early", "late"]


def test_what_another_relay_is_at_is_left_to_it_until_its_lease_is_over(
    connection: Connection, make_relay: MakeRelay
) -> None:
    publish(connection)

    def answer(entries: list[dict[str, Any]]) -> Any:
        assert make_relay(Client()).handle(None, None)["sent"] == 0
        connection.execute("update outbox set locked_until = now() - interval '1 second'")
        assert make_relay(Client()).handle(None, None)["sent"] == 1
        return {"Failed": [{"Id": "1", "SenderFault": True, "Code": "Late", "Message": ""}]}

    assert make_relay(Client(answer)).handle(None, None)["failed"] == 1
    assert state(connection) == [(True, False, 2, False, False, None)]  # accepted is accepted


def test_what_was_accepted_from_a_relay_that_was_overtaken_stays_accepted(
    connection: Connection, make_relay: MakeRelay
) -> None:
    publish(connection)
    refused = {"Failed": [{"Id": "1", "SenderFault": True, "Code": "Late", "Message": ""}]}

    def answer(entries: list[dict[str, Any]]) -> Any:
        connection.execute("update outbox set locked_until = now() - interval '1 second'")
        assert make_relay(Client(lambda entries: refused)).handle(None, None)["failed"] == 1
        return {"Successful": [{"Id": "1"}]}

    make_relay(Client(answer)).handle(None, None)
    assert state(connection) == [(True, False, 2, False, False, "Late: ")]


def test_what_an_earlier_attempt_got_accepted_is_not_set_aside_by_a_later_one(
    connection: Connection, make_relay: MakeRelay
) -> None:
    publish(connection)

    def answer(entries: list[dict[str, Any]]) -> Any:
        connection.execute("update outbox set published_at = now()")  # as the relay says that was taken for dead
        return {"Failed": [{"Id": "1", "SenderFault": True, "Code": "Late", "Message": ""}]}

    make_relay(Client(answer)).handle(None, None)
    assert [(published, failed) for published, failed, *_ in state(connection)] == [(True, False)]


def test_a_relay_that_was_overtaken_puts_nothing_off(
    connection: Connection, make_relay: MakeRelay, database_url: str
) -> None:
    publish(connection)

    def answer(entries: list[dict[str, Any]]) -> Any:
        connection.execute("update outbox set attempts = 2, locked_until = now() + interval '1 minute'")  # another claim
        return {"Failed": [{"Id": "1", "SenderFault": True, "Code": "Late", "Message": ""}]}

    make_relay(Client(answer)).handle(None, None)
    assert state(connection) == [(False, False, 2, False, True, None)]


def test_it_goes_on_until_nothing_is_due(connection: Connection, make_relay: MakeRelay) -> None:
    connection.execute("insert into outbox (topic) select 'orders' from generate_series(1, 450)")
    client = Client()
    assert make_relay(client).handle(None, Context(60_000)) == {**RAN, "sent": 450}
    assert {len(batch) for batch in client.batches} == {10}


def test_it_ends_when_its_time_is_nearly_up(connection: Connection, make_relay: MakeRelay) -> None:
    connection.execute("insert into outbox (topic) select 'orders' from generate_series(1, 450)")
    assert make_relay(Client()).handle(None, Context(0))["sent"] == 200
