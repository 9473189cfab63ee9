"""A topic without a target is one trouble: its rows are set aside, and it is told once, and when it is over."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from tidemill.db import Database
from tidemill.settings import Settings
from tidemill.watch import Watch
from tidemill.wire import Connection

from tests.functions.conftest import Told
from tests.functions.relaying import Client, MakeRelay, publish, state

BEGINS = (
    "outbox topic 'nowhere': it has no target, so its rows are set aside; "
    "give it one in OUTBOX_TARGETS, and put its rows back as docs/outbox.md says"
)
OVER = "outbox topic 'nowhere': over, after 0 seconds"


@pytest.fixture
def look(database_url: str, told: Told) -> Iterator[Callable[[], list[str]]]:
    """What the watch does each minute; answers the names of what is wrong."""
    database = Database(database_url)
    watch = Watch(database, Settings({}), told)  # type: ignore[arg-type]
    yield lambda: watch.run(SimpleNamespace(oldest=0.0, ready=0))
    database.close()


def put_back(connection: Connection) -> None:
    connection.execute("update outbox set failed_at = null, run_at = now() where failed_at is not null")


def test_it_is_set_aside_and_told_and_the_others_are_sent(
    connection: Connection, make_relay: MakeRelay, told: Told
) -> None:
    publish(connection, topic="nowhere")
    publish(connection)
    assert make_relay(Client()).handle(None, None) == {"ok": True, "sent": 1, "retried": 0, "failed": 1}
    [(_, failed, *_, error), _] = state(connection)
    assert (failed, error) == (True, "no target for the topic 'nowhere' in OUTBOX_TARGETS")
    assert told.texts == [BEGINS]


def test_it_is_told_once_whatever_is_published_and_whoever_finds_it(
    connection: Connection, make_relay: MakeRelay, look: Callable[[], list[str]], told: Told
) -> None:
    for _ in range(3):
        publish(connection, topic="nowhere")
        publish(connection, topic="nowhere")
        assert make_relay(Client()).handle(None, None)["failed"] == 2
        assert look() == ["outbox topic 'nowhere'"]
    assert told.texts == [BEGINS]


def test_it_is_over_when_its_rows_were_put_back_and_sent_and_may_begin_anew(
    connection: Connection, make_relay: MakeRelay, look: Callable[[], list[str]], told: Told
) -> None:
    for number in range(3):
        publish(connection, number, topic="nowhere")
    make_relay(Client()).handle(None, None)
    put_back(connection)
    assert make_relay(client := Client(), topic="nowhere").handle(None, None)["sent"] == 3
    assert (look(), client.bodies()) == ([], [0, 1, 2])
    assert told.texts == [BEGINS, OVER]
    publish(connection, topic="nowhere")
    make_relay(Client()).handle(None, None)
    assert told.texts == [BEGINS, OVER, BEGINS]


def test_it_is_not_over_while_a_row_is_set_aside_although_there_is_a_target(
    connection: Connection, make_relay: MakeRelay, look: Callable[[], list[str]], told: Told
) -> None:
    publish(connection, topic="nowhere")
    make_relay(Client()).handle(None, None)
    publish(connection, topic="nowhere")
    assert make_relay(Client(), topic="nowhere").handle(None, None)["sent"] == 1
    assert (look(), told.texts) == (["outbox topic 'nowhere'"], [BEGINS])


def test_it_is_over_when_somebody_deletes_its_rows(
    connection: Connection, make_relay: MakeRelay, look: Callable[[], list[str]], told: Told
) -> None:
    publish(connection, topic="nowhere")
    make_relay(Client()).handle(None, None)
    connection.execute("delete from outbox")
    assert (look(), told.texts) == ([], [BEGINS, OVER])


def test_where_the_relay_died_before_it_could_tell_the_watch_does(
    connection: Connection, make_relay: MakeRelay, look: Callable[[], list[str]], told: Told
) -> None:
    publish(connection, topic="nowhere")
    make_relay(Client()).handle(None, None)
    connection.execute("delete from troubles")
    told.texts.clear()
    assert (look(), told.texts) == (["outbox topic 'nowhere'"], [BEGINS])


def test_each_topic_is_a_trouble_of_its_own(
    connection: Connection, make_relay: MakeRelay, look: Callable[[], list[str]], told: Told
) -> None:
    for topic in ("b", "a", "b", "c"):
        publish(connection, topic=topic)
    make_relay(Client()).handle(None, None)
    assert look() == [f"outbox topic '{topic}'" for topic in "abc"]
    assert [text.partition(":")[0] for text in told.texts] == look()


def test_rows_that_were_refused_are_told_as_they_come_and_are_no_such_trouble(
    connection: Connection, make_relay: MakeRelay, look: Callable[[], list[str]], told: Told
) -> None:
    publish(connection)
    refused = {"Id": "1", "SenderFault": True, "Code": "X", "Message": "never"}
    make_relay(Client(lambda entries: {"Failed": [refused]})).handle(None, None)
    assert (look(), len(told.texts)) == ([], 1) and "was set aside: X: never" in told.texts[0]


def test_a_topic_that_is_longer_than_an_index_takes_stops_nothing(
    connection: Connection, make_relay: MakeRelay, look: Callable[[], list[str]], told: Told
) -> None:
    topic = secrets.token_hex(8000)
    connection.execute("insert into outbox (topic) values (%s)", (topic,))
    publish(connection)
    assert make_relay(Client()).handle(None, None) == {"ok": True, "sent": 1, "retried": 0, "failed": 1}
    assert look() == [f"outbox topic '{topic[:200]}'"]
    assert len(told.texts) == 1
