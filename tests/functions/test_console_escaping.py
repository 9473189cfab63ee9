"""Whatever stands in a row, the page says it and does not obey it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import tidemill.console
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tidemill.console import Console
from tidemill.console.html import action, tag
from tidemill.telemetry import Log

from tests.functions.widget import ARN, Shown

PACKAGE = Path(tidemill.console.__file__).parent
NOW = datetime(2027, 4, 30, 9, tzinfo=UTC)
EVIL = "</cwdb-action></pre><script>alert(1)</script><img src=x onerror='alert(1)'>\" ' & <!-- ]]> \u2028"


def answers(text: str) -> dict[str, dict[str, Any]]:
    """What the operator answers, with `text` wherever a sender, a handler or another person may have written."""
    at = "2027-04-30T08:00:00+00:00"
    error = {"id": 1, "at": at, "attempt": 1, "error_class": text, "error": text, "worker": text, "log_stream": text}
    step = {"name": text, "kind": "step", "result": {text: text}, "wake_at": at, "error": text, "over": True}
    job = dict.fromkeys(
        ("locked_until", "started_at", "finished_at", "sent_at", "first_failed_at", "redriven_at", "copy_of", "result"), at
    )
    job |= {"id": 1, "kind": text, "status": "failed", "attempts": 1, "max_attempts": 8, "run_at": at, "created_at": at}
    job |= {"key": text, "limit_name": text, "tenant": text, "priority": 0, "slot": text, "worker": text, "copy_of": 2}
    job |= {"error_class": text, "last_error": text, "failed_at": at, "event_id": 3, "payload": {text: [text]}}
    job |= {"correlation_id": text}
    event = {"id": 3, "source": text, "dedup_key": text, "received_at": at, "correlation_id": text, "redeliveries": 1}
    event |= {
        "mismatches": 1,
        "redelivered_at": at,
        "route_error": text,
        "headers": {text: text},
        "body_bytes": 1,
        "body": text,
    }
    operation = {"at": at, "by": text, "command": text, "arguments": {text: text}, "outcome": {text: text}}
    refusal = {"source": text, "reason": text, "count": 1, "last_at": at, "sample": {"method": text}}
    limit = {"name": text, "size": 5, "used": 1, "paused_until": None}
    schedule = {"name": text, "kind": text + "!", "rule": text, "tz": text, "last_slot": at, "next_slot": at}
    schedule |= {"last_enqueued_at": at, "overdue": True, "last_error": text}
    refused = [{"id": 1, "code": "conflict", "message": text}]
    counts = {"pending": 1, "running": 1, "failed": 1}
    return {
        "stats": {
            "jobs": {**counts, "done": 1, "discarded": 1}, "ready": 1, "oldest_ready_age": 1000.0, "kinds": {text: counts},
            "unrouted": 1, "capped": [], "limits": [limit, {**limit, "paused_until": at}],
        },
        "schedules": {"schedules": [schedule]},
        "failed": {"jobs": [job], "after": text},
        "show job": {"job": job, "errors": [error], "steps": [step], "event": event, "siblings": [job]},
        "show event": {"event": event, "jobs": [{**job, "errors": [error], "steps": [step]}]},
        "search": {"jobs": [job], "events": [event], "among": 50_000},
        "operations": {"operations": [operation], "after": text},
        "rejected": {"rejected": [refusal], "after": text},
        "retry": {"matched": 2, "changed": 0, "refused": refused},
        "replay": {"event": 3, "jobs": [{"id": 1, "kind": text, "outcome": text}]},
        "cancel": {"job": 1}, "restart": {"job": 1, "step": text}, "resume": {"limit": text},
        "pause": {"limit": text, "paused_until": at},
    }  # fmt: skip


def events(text: str) -> Iterator[dict[str, Any]]:
    """Each view, and each button's outcome."""
    yield {}
    yield {"view": "failed", "kind": text, "error_class": text, "since": text, "after": text, "trail": [text]}
    yield {"view": "job", "job": 1}
    yield {"view": "event", "event": 3}
    yield {"view": "search", "text": text}
    yield {"view": "operations"}
    yield {"view": "rejected"}
    yield {"view": "plan", "of": {"command": "retry", "kind": text, "after": text}}
    for command in ("retry", "replay", "cancel", "restart", "pause", "resume"):
        yield {"view": "operations", "do": {"command": command, "kind": text}, "by": text}
    yield {"view": text + "!"}
    yield {"do": {"command": text}}
    yield {"do": {"command": "retry", "refuse": True}}
    yield {"view": "plan", "of": {"command": "retry", "refuse": True}}


def pages(text: str) -> list[Shown]:
    def run(command: Any) -> dict[str, Any]:
        name = command["command"]
        if command.get("refuse"):
            return {"ok": False, "error": {"code": "invalid", "field": text, "message": text}}
        if name == "show":
            name = "show job" if "job" in command else "show event"
        return {"ok": True, **json.loads(json.dumps(answers(text)[name]))}

    console = Console(run, Log(), lambda: NOW)
    return [Shown(str(console.answer(event, ARN))) for event in events(text)]


# Texts like the tame one in all that decides what is shown: not empty, one short line, and no JSON.
_texts = st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), min_size=1, max_size=30).map(
    lambda text: f"x{text}x"
)


@settings(max_examples=40, deadline=None)
@given(_texts)
@example(f"x{EVIL}x")
@example("x\x00\ud800x")
def test_a_page_has_the_same_elements_whatever_its_data(text: str) -> None:
    for tame, wild in zip(pages("xx"), pages(text), strict=True):
        assert wild.structure == tame.structure
        assert [(len(one.event), one.confirmation is None) for one in wild.buttons] == [
            (len(one.event), one.confirmation is None) for one in tame.buttons
        ]


def test_what_is_escaped_is_read_as_it_was() -> None:
    overview, failed, *_ = pages(EVIL)
    assert overview.text.count(EVIL) >= 5
    assert failed.button("Retry").confirmation == f"Retry job 1 ({EVIL})? It gets a fresh budget of attempts."
    assert failed.button("Retry").event["kind"] == EVIL


@given(st.recursive(st.text(), lambda inner: st.dictionaries(st.text(), inner, max_size=3), max_leaves=5))
@example(EVIL)
def test_an_action_is_the_same_read_as_text_and_as_html(value: Any) -> None:
    made = action(ARN, {"value": value})
    inside = made.partition(">")[2].rpartition("<")[0]
    assert not set(inside) & {"<", ">", "&"}
    assert json.loads(inside) == {"value": value}


def test_an_attribute_cannot_be_left() -> None:
    assert tag("a", title='"><script>') == '<a title="&quot;&gt;&lt;script&gt;"></a>'
    assert tag("input", disabled=True, name=None, hidden=False) == "<input disabled>"


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_only_one_module_says_what_is_html(path: Path) -> None:
    made = [
        node
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Html" and node.args
    ]
    assert bool(made) == (path.name == "html.py")
