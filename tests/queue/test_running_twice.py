"""docs/running-twice.md does what it says: what is broken there happens twice, what is right there once."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tidemill import handlers
from tidemill.attempt import attempt
from tidemill.context import Connections, Context, Tools
from tidemill.db import Database, connect
from tidemill.errors import PermanentError
from tidemill.handlers import Handler
from tidemill.outcome import Done, Failed, Outcome
from tidemill.settings import Settings
from tidemill.telemetry import Log
from tidemill.wire import Connection

from local.mail import MailProvider
from tests.conftest import ROOT
from tests.queue.conftest import put
from tests.queue.test_workflow_fence import take_over
from tests.queue.workflows import history

PAGE = (ROOT / "docs/running-twice.md").read_text("utf-8")
INTRODUCTION, *SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)

# What to count, by section.
EFFECTS = {
    "A write to this database": "select 10 - pieces from stock",
    "A call to a provider": "mails",
    "Telling other systems": "select count(*) from outbox",
    "More jobs": "select count(*) from jobs where kind = 'label.print'",
    "One effect after the other": "select 10 - pieces from stock",
    "What differs from run to run": "mails",
}


def snippets(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def title(section: str) -> str:
    return section.partition("\n")[0]


def handler_in(code: str, name: str, **more: Any) -> Handler:
    """The handler that a snippet declares, below the lines that all snippets stand below."""
    space = {"__name__": f"running_twice.{name}", **more}
    exec(snippets(INTRODUCTION)[0] + code, space)
    (found,) = handlers.declared.of([space["__name__"]])
    return found


@pytest.fixture
def provider() -> Iterator[MailProvider]:
    provider = MailProvider()
    yield provider
    provider.close()


@pytest.fixture
def start(
    database_url: str, connection: Connection, database: Database, provider: MailProvider
) -> Iterator[Callable[[Handler], Outcome]]:
    """`start(handler)` runs the only job of its kind, taken from the worker before, which never said how its run ended."""
    connection.execute("create table stock as select 10 as pieces")
    settings = Settings({"DATABASE_URL": database_url, "MAIL_API": provider.url, "MAIL_API_KEY": "k"})
    tools = Tools(settings, Log(lambda line: ""), {}, Connections(database_url, connect))

    def run(one: Handler) -> Outcome:
        if not connection.execute("select from jobs").fetchall():
            put(connection, kind=one.kind, payload='{"order": "A-7"}')
        connection.execute("update jobs set run_at = '2100-01-01' where kind <> %s", (one.kind,))
        job = take_over(connection, database)
        ctx = Context(job, tools, time.monotonic() + 60)
        try:
            return attempt(job, one, ctx, tools.log, str)
        finally:
            ctx.close()

    yield run
    tools.connections.close()


def test_each_section_but_the_last_has_a_broken_and_a_right_snippet() -> None:
    assert [title(section) for section in SECTIONS] == [*EFFECTS, "When a workflow waits"]
    assert [len(snippets(section)) for section in SECTIONS] == [2] * len(EFFECTS) + [1]


@pytest.mark.parametrize(("side", "times"), [(0, 2), (1, 1)], ids=["broken", "right"])
@pytest.mark.parametrize("section", SECTIONS[:-1], ids=title)
def test_what_a_snippet_does_is_there_as_often_as_the_page_says(
    start: Callable[[Handler], Outcome], connection: Connection, provider: MailProvider, section: str, side: int, times: int
) -> None:
    one = handler_in(snippets(section)[side], f"{title(section)}.{side}")
    assert [start(one), start(one)] == [Done(), Done()]
    what = EFFECTS[title(section)]
    found = len(provider.mails) if what == "mails" else connection.execute(what).fetchall()[0][0]  # type: ignore[call-overload]
    assert found == times


@pytest.mark.parametrize(("side", "times"), [(0, 2), (1, 1)], ids=["broken", "right"])
def test_a_provider_whose_answer_was_lost_has_acted_as_often_as_the_page_says(
    start: Callable[[Handler], Outcome], provider: MailProvider, side: int, times: int
) -> None:
    section = next(one for one in SECTIONS if title(one) == "A call to a provider")
    one = handler_in(snippets(section)[side], f"lost.{side}")
    provider.lose(1)
    first, second = start(one), start(one)
    assert (type(first).__name__, second, len(provider.mails)) == ("Retry", Done(), times)


def test_the_compensation_of_the_last_section_puts_back_once(
    start: Callable[[Handler], Outcome], connection: Connection
) -> None:
    def ship(order: str) -> None:
        raise PermanentError("no carrier")

    def put_back(order: str, connection: Connection) -> None:
        connection.execute("update stock set pieces = pieces + 1")

    (code,) = snippets(SECTIONS[-1])
    one = handler_in(code, "book", ship=ship, put_back=put_back)
    assert [start(one), start(one)] == [Failed("PermanentError", "no carrier")] * 2
    assert connection.execute("select pieces from stock").fetchall() == [(10,)]
    assert [name for _, _, name, _ in history(connection, 1)] == ["pick", "ship", "put back"]
