"""functions/intake: whatever is thrown at it, it answers, stores only what is genuine, and that exactly.

`make test` throws a few hundred requests, the same each time; `make hostile` throws REQUESTS, others each time.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tidemill.rejections import MOST_REASONS
from tidemill.wire import Connection

from functions.intake.app import handler
from tests.functions.intake.hostile import SOURCES, Sent, requests, signature
from tests.functions.intake.sources import SECRETS

REQUESTS = int(os.environ.get("REQUESTS", "400"))
ROUND = 5000  # requests, after which what was thrown is forgotten


def answered(event: object) -> tuple[dict[str, Any], str]:
    """The answer as Lambda sends it on, and what was written to stdout."""
    with contextlib.redirect_stdout(io.StringIO()) as written:
        answer = handler(json.loads(json.dumps(event)), None)
    found: dict[str, Any] = json.loads(json.dumps(answer, ensure_ascii=False).encode())
    return found, written.getvalue()


def texts(value: object) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, str):
        yield from value.split(",")


def check_stored(connection: Connection, sent: Sent, event: Any, told: dict[str, Any]) -> None:
    """What stands in the database of a request that was answered with 202."""
    found = connection.execute(
        "select source, body, headers::text, dedup_key from events where id = %s", (told["id"],)
    ).fetchall()
    [(source, body, headers, key)] = found
    assert source in SOURCES
    assert not [secret for secret in SECRETS.values() if secret in headers]
    if "duplicate" in told:
        assert key is not None
        return
    given = {text.strip() for text in texts([event.get("headers"), event.get("multiValueHeaders")])}
    assert signature(source, body)[1] in given
    if sent.exact or source != "bot":  # of a token that came with another body nothing more is to be said
        assert body == sent.body


@pytest.mark.usefixtures("environment")
def test_only_what_is_genuine_is_stored_and_nothing_is_a_fault_of_ours(connection: Connection) -> None:
    """B01, B06, B07, B08, B09, B10, B11, B18, B20, B30, B32."""
    statuses: Counter[int] = Counter()

    @settings(
        max_examples=min(REQUESTS, ROUND) * 3 // 5,  # most are thrown twice
        deadline=None,
        derandomize="REQUESTS" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @given(requests)
    def throw(sent: Sent) -> None:
        assert len({thrown(sent, event) for event in sent.events}) == 1  # both formats are answered alike

    def thrown(sent: Sent, event: object) -> int:
        [(before,)] = connection.execute("select coalesce(max(id), 0) from events").fetchall()
        answer, written = answered(event)
        status: int = answer["statusCode"]
        statuses[status] += 1
        assert status in sent.statuses
        for line in written.splitlines():
            json.loads(line)
        assert not [secret for secret in SECRETS.values() if secret in written]
        if status == 202:
            check_stored(connection, sent, event, json.loads(answer["body"]))
        else:
            assert connection.execute("select from events where id > %s", (before,)).fetchall() == []
            assert status != 200 or answer["body"] == '{"ok":true}'
        if statuses.total() % 1000 == 0:
            connection.execute("truncate events, jobs cascade")
        return status

    while statuses.total() < REQUESTS:
        throw()
    rare = {413} if statuses.total() > 5_000 else set()  # one in seventy; it has tests of its own
    assert statuses.keys() >= {202, 400, 401, 404, 405} | rare
    [(reasons,)] = connection.execute(
        "select max(count) from (select count(*) from rejections group by source, hour)"
    ).fetchall()
    assert reasons <= MOST_REASONS + 1
    print(f"{statuses.total()} requests: {dict(sorted(statuses.items()))}")
