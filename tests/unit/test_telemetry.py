from __future__ import annotations

import json
import re
import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from tidemill import telemetry
from tidemill.settings import Settings
from tidemill.telemetry import Log


def said(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line, parse_constant=lambda name: pytest.fail(name)) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("level", ["info", "warning", "error"])
def test_a_line_is_one_json_object(level: str, capsys: pytest.CaptureFixture[str]) -> None:
    getattr(Log(worker="w-1"), level)("two\nlines", job=42)
    (line,) = said(capsys)
    assert datetime.fromisoformat(line.pop("timestamp")).tzinfo is not None
    assert line == {"level": level.upper(), "message": "two\nlines", "worker": "w-1", "job": 42}


def test_a_bound_log_says_more_and_leaves_the_first_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log(str, a=1)
    log.bind(b=2).info("bound")
    log.info("plain")
    bound, plain = said(capsys)
    assert (bound["a"], bound["b"], plain["a"], "b" in plain) == (1, 2, 1, False)


def test_a_line_carries_the_correlation_id_of_what_is_running(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log()
    with telemetry.correlated("outer"):
        with telemetry.correlated("inner"):
            log.info("a")
        log.info("b")
        log.bind(correlation_id="bound").info("c")
    log.info("d")
    assert [line.get("correlation_id") for line in said(capsys)] == ["inner", "outer", "bound", None]


def test_a_correlation_id_ends_with_its_block_whatever_happens_in_it() -> None:
    with pytest.raises(ZeroDivisionError), telemetry.correlated("a"):
        raise ZeroDivisionError
    assert telemetry.correlation_id() == ""


def test_each_thread_has_a_correlation_id_of_its_own() -> None:
    seen: list[str] = []
    with telemetry.correlated("a"):
        thread = threading.Thread(target=lambda: seen.append(telemetry.correlation_id()))
        thread.start()
        thread.join()
    assert seen == [""]


def test_no_secret_is_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """B84"""
    settings = Settings({"SHOP_SECRET": 'hush"é-hush'})
    Log(settings.redact, field='hush"é-hush').bind(more=['hush"é-hush']).error(
        'hush"é-hush', form={'hush"é-hush': 'hush"é-hush'}
    )
    (line,) = said(capsys)
    assert "hush" not in json.dumps(line)
    assert line["message"] == "***"


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError


def endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [b"\xff", {1, 2}, float("nan"), [float("inf")], {(1, 2): 3}, object(), Unprintable(), endless(), "\ud800",
     ValueError("\x00"), 10**5000],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_whatever_is_logged_the_line_is_json(value: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Log().info("odd", job=42, value=value)
    (line,) = said(capsys)
    assert (line["level"], line["message"]) == ("INFO", "odd")
    assert "value" in line and "42" in str(line["job"])


@pytest.mark.parametrize("message", [42, None, ValueError("why"), Unprintable()])
def test_a_message_need_not_be_text(message: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Log().info(message)
    assert isinstance(said(capsys)[0]["message"], str)


def test_a_long_message_is_kept_whole(capsys: pytest.CaptureFixture[str]) -> None:
    Log().info("x" * 50_000)
    assert said(capsys)[0]["message"] == "x" * 50_000


def test_lines_of_many_threads_are_not_mixed_up(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log()
    threads = [threading.Thread(target=lambda: [log.info("x" * 2000) for _ in range(20)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line["message"] for line in said(capsys)] == ["x" * 2000] * 160


def test_metrics_are_in_the_embedded_format_of_cloudwatch() -> None:
    line = json.loads(telemetry.metrics({"JobsDone": (3, "Count"), "JobDuration": ([1.5, 2.5], "Milliseconds")}, kind="a"))
    stamp = line.pop("_aws")
    assert line == {"kind": "a", "JobsDone": 3, "JobDuration": [1.5, 2.5]}
    assert stamp["CloudWatchMetrics"] == [
        {
            "Namespace": "Tidemill",
            "Dimensions": [["kind"]],
            "Metrics": [{"Name": "JobsDone", "Unit": "Count"}, {"Name": "JobDuration", "Unit": "Milliseconds"}],
        }
    ]
    assert abs(datetime.fromtimestamp(stamp["Timestamp"] / 1000, UTC) - datetime.now(UTC)).total_seconds() < 60


def test_a_metric_by_two_dimensions_is_also_kept_by_the_first_alone() -> None:
    line = json.loads(telemetry.metrics({"EventsRejected": (1, "Count")}, source="a", reason="b"))
    assert line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["source"], ["source", "reason"]]


def test_a_text_is_cut_without_leaving_half_a_secret() -> None:
    redact = Settings({"A_SECRET": "hush-hush-hush"}).redact
    assert Log(redact).short(f"{'x' * 90}hush-hush-hush{'y' * 90}", 100) == f"{'x' * 90}***yyyy\u2026"


def test_metrics_may_have_no_dimension() -> None:
    assert json.loads(telemetry.metrics({"JobsDead": (0, "Count")}))["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [[]]


def test_the_time_of_a_line_is_utc_to_the_millisecond() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", telemetry.now_text())


@pytest.mark.parametrize(
    ("value", "safe"),
    [("a.B-9_", True), ("x" * 128, True), ("", False), ("x" * 129, False), ("a b", False), ("é", False), ("a\n", False)],
)
def test_which_correlation_ids_are_safe(value: str, safe: bool) -> None:
    assert bool(telemetry.SAFE_ID.fullmatch(value)) is safe
