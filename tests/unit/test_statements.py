"""What the statements' texts must keep to."""

from __future__ import annotations

import re

from tidemill.db import statement


def test_an_event_with_signals_or_an_id_is_stored_by_the_very_statement_of_one_without() -> None:
    whole = _code("receive_whole")
    signalled = whole[whole.index(",\nsignalled as (") : whole.index("select id, token, token is")]
    for more, less in (
        (signalled, "\n"),
        ("(select count(*) from signalled)", "0"),
        ("(id, source,", "(source,"),
        ("  overriding system value\n", ""),
        ("(event_number(%(id)s), ", "("),
    ):
        assert whole.count(more) == 1
        whole = whole.replace(more, less)
    assert whole == _code("receive")


def _code(name: str) -> str:
    return re.sub("--[^\n]*\n", "", statement(name))
