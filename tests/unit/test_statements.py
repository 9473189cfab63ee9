"""What the statements' texts must keep to."""

from __future__ import annotations

import re

from tidemill.wire import statement


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


def test_a_claim_without_limits_is_the_very_statement_of_one_with_them() -> None:
    limited = _code("claim_limited")
    lease = limited[limited.index("case when limit_name = ''") : limited.index("\n  where j.id = any")]
    held = limited[limited.index("      where entry.held = 0") : limited.index("      limit entry.share) x")]
    for more, less in (
        (lease, "now() + make_interval(secs => %(lease)s)"),
        (held, ""),
        ("%(held)s::int[], ", ""),
        ("share, held, lo", "share, lo"),
    ):
        assert limited.count(more) == 1
        limited = limited.replace(more, less)
    assert limited == _code("claim")


def _code(name: str) -> str:
    return re.sub(" *--[^\n]*\n", "", statement(name))
