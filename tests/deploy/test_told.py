"""What alarms, the dashboard and the saved queries look at is what the functions write, driven for real."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from local.postgres import Postgres
from tests.deploy.words import words

ROOT = Path(__file__).parents[2]
STACK = "<AWS::StackName>"

# Of AWS's own metrics those that we use, with the dimension under which each exists.
# https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
# https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-metrics.html
# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
OF_AWS = {
    "AWS/Lambda": ("FunctionName", {"Errors", "Throttles"}),
    "AWS/ApiGateway": ("ApiId", {"5xx", "Latency"}),
    "AWS/SQS": ("QueueName", {"ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible"}),
}


class Metric(NamedTuple):
    namespace: str
    name: str
    dimensions: tuple[str, ...]


@pytest.fixture(scope="module")
def said(postgres: Postgres, template: dict[str, Any]) -> list[dict[str, Any]]:
    """Each line that the functions wrote."""
    name = f"emitting_{os.getpid()}"
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"create database {name} template template_tidemill strategy file_copy")
        paths = [str(ROOT), str(ROOT / "layers/tidemill/python")]
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": ":".join(paths),
            "DATABASE_URL": postgres.url(name),
            "METRICS_NAMESPACE": words(template["Globals"]["Function"]["Environment"]["Variables"]["METRICS_NAMESPACE"]),
        }
        command = [sys.executable, "-m", "tests.deploy.emitting"]
        ran = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
        connection.execute(f"drop database {name} with (force)")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.fixture(scope="module")
def emitted(said: list[dict[str, Any]]) -> set[Metric]:
    """Every metric that CloudWatch would make of it: one for each set of dimensions."""
    return {
        Metric(directive["Namespace"], metric["Name"], tuple(dimensions))
        for line in said
        if "_aws" in line
        for directive in line["_aws"]["CloudWatchMetrics"]
        for metric in directive["Metrics"]
        for dimensions in directive["Dimensions"]
        if isinstance(line[metric["Name"]], (int, float, list)) and all(isinstance(line[one], str) for one in dimensions)
    }


def alarms(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The properties of each alarm, by its name without that of the stack."""
    found = [one["Properties"] for one in template["Resources"].values() if one["Type"] == "AWS::CloudWatch::Alarm"]
    return {words(one["AlarmName"]).removeprefix(f"{STACK}-"): one for one in found}


def body(template: dict[str, Any]) -> dict[str, Any]:
    """The dashboard, as CloudWatch reads it."""
    parsed: dict[str, Any] = json.loads(words(template["Resources"]["Dashboard"]["Properties"]["DashboardBody"]))
    return parsed


def of_expression(expression: str) -> Iterator[Metric]:
    """The metrics that SEARCH and Metrics Insights name."""
    for namespace, names, metric in re.findall(r"""SEARCH\('\{"([^"]+)",([\w,]*)\} MetricName="(\w+)"'""", expression):
        yield Metric(namespace, metric, tuple(names.split(",")))
    for metric, namespace, names in re.findall(r'SELECT SUM\((\w+)\) FROM SCHEMA\("([^"]+)", ([\w, ]+)\)', expression):
        yield Metric(namespace, metric, tuple(names.split(", ")))


def of_alarm(alarm: dict[str, Any]) -> Iterator[tuple[Metric, list[str]]]:
    """The metrics of an alarm, each with the values of its dimensions."""
    named = [one["MetricStat"]["Metric"] for one in alarm.get("Metrics", ()) if "MetricStat" in one]
    for one in named or ([alarm] if "MetricName" in alarm else []):
        dimensions = one.get("Dimensions", [])
        names = tuple(dimension["Name"] for dimension in dimensions)
        metric = Metric(words(one["Namespace"]), one["MetricName"], names)
        yield metric, [words(dimension["Value"]) for dimension in dimensions]
    for one in alarm.get("Metrics", ()):
        yield from ((metric, []) for metric in of_expression(words(one.get("Expression", ""))))


def of_widget(widget: dict[str, Any]) -> Iterator[tuple[Metric, list[str]]]:
    for row in widget["properties"].get("metrics", ()):
        *path, options = row if isinstance(row[-1], dict) else [*row, {}]
        if path:
            yield Metric(path[0], path[1], tuple(path[2::2])), path[3::2]
        yield from ((metric, []) for metric in of_expression(options.get("expression", "")))


def check(metric: Metric, values: list[str], emitted: set[Metric], template: dict[str, Any]) -> None:
    if metric.namespace.startswith("Tidemill"):
        assert metric in emitted
        return
    dimension, names = OF_AWS[metric.namespace]
    assert metric.name in names and metric.dimensions == (dimension,)
    [value] = values
    resource = template["Resources"][value[1:-1].removesuffix(".QueueName")]["Type"]
    kinds = {"FunctionName": "Function", "ApiId": "HttpApi", "QueueName": "Queue"}
    assert resource.rpartition("::")[2] == kinds[dimension]


ALARMS = {
    "failed-jobs", "oldest-ready-job", "no-drain", "missed-schedule", "minute-silent", "rejects", "intake-5xx",
    "intake-errors", "absorb-errors", "drain-errors", "schedule-errors", "relay-errors", "consume-errors", "alarm-errors",
    "throttles", "jobs-queue-age", "parking-queue-age", "jobs-dead-letters", "parking-dead-letters",
}  # fmt: skip


def test_there_is_an_alarm_for_each_thing_that_may_not_pass_in_silence(template: dict[str, Any]) -> None:
    assert set(alarms(template)) == ALARMS


@pytest.mark.parametrize("name", sorted(ALARMS))
def test_an_alarm_looks_at_a_metric_that_is_really_written(
    name: str, template: dict[str, Any], emitted: set[Metric]
) -> None:
    looked_at = list(of_alarm(alarms(template)[name]))
    assert looked_at
    for metric, values in looked_at:
        check(metric, values, emitted, template)


@pytest.mark.parametrize("name", sorted(ALARMS))
def test_an_alarm_and_its_end_are_told_and_explained(name: str, template: dict[str, Any]) -> None:
    alarm = alarms(template)[name]
    assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": "AlarmTopic"}]
    assert len(alarm["AlarmDescription"]) > 40
    assert f"\n### {name}\n" in (ROOT / "docs/runbooks.md").read_text("utf-8")


def test_where_silence_is_the_fault_missing_data_are_bad(template: dict[str, Any]) -> None:
    missing = {name: alarm["TreatMissingData"] for name, alarm in alarms(template).items()}
    assert {name for name, word in missing.items() if word == "breaching"} == {
        "no-drain", "missed-schedule", "minute-silent",
    }  # fmt: skip
    # These two keep their state meanwhile: no data of them are no good news, and minute-silent tells of that.
    assert {name for name, word in missing.items() if word == "ignore"} == {"failed-jobs", "oldest-ready-job"}


def test_alarms_reach_people_by_two_ways_that_need_no_database(template: dict[str, Any]) -> None:
    ways = {
        one["Properties"]["Protocol"]: words(one["Properties"]["Endpoint"])
        for one in template["Resources"].values()
        if one["Type"] == "AWS::SNS::Subscription"
    }
    assert ways == {"lambda": "<AlarmFunction.Arn>", "email": "<AlarmEmail>"}


def test_the_dashboard_looks_at_metrics_that_are_really_written(template: dict[str, Any], emitted: set[Metric]) -> None:
    looked_at = [found for widget in body(template)["widgets"] for found in of_widget(widget)]
    for metric, values in looked_at:
        check(metric, values, emitted, template)
    shown = {metric.name for metric, _ in looked_at if metric.namespace.startswith("Tidemill")}
    beside = {"SchedulesOverdue", "SlotsEnqueued", "SlotsMissed"}  # the log has the slots themselves
    assert shown | beside == {metric.name for metric in emitted}


def test_the_dashboard_shows_the_state_of_every_alarm_and_the_operators_page(template: dict[str, Any]) -> None:
    widgets = {widget["type"]: widget["properties"] for widget in body(template)["widgets"]}
    all_alarms = {name for name, one in template["Resources"].items() if one["Type"] == "AWS::CloudWatch::Alarm"}
    assert {arn[1:-1].removesuffix(".Arn") for arn in widgets["alarm"]["alarms"]} == all_alarms
    assert widgets["custom"]["endpoint"] == "<ConsoleFunction.Arn>"


def test_no_widget_lies_over_another(template: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    for widget in body(template)["widgets"]:
        columns = range(widget["x"], widget["x"] + widget["width"])
        rows = range(widget["y"], widget["y"] + widget["height"])
        places = {(x, y) for x in columns for y in rows}
        assert max(columns) < 24 and not taken & places
        taken |= places


def fields_of(query: str) -> set[str]:
    """The names of fields that a query reads: not strings, functions, words of the language, or names that it gives."""
    text = re.sub(r'"[^"]*"|\'[^\']*\'|SOURCE|\b\w+\(|\d+', " ", query)
    given = set(re.findall(r"\bas (\w+)", text))
    language = {"fields", "filter", "stats", "sort", "limit", "by", "as", "and", "in", "asc", "desc"}
    return set(re.findall(r"(?<![@\w])[a-z_]\w*", text)) - language - given


def queries(template: dict[str, Any]) -> list[str]:
    saved = [one["Properties"] for one in template["Resources"].values() if one["Type"] == "AWS::Logs::QueryDefinition"]
    return [one["QueryString"] for one in saved] + [
        widget["properties"]["query"] for widget in body(template)["widgets"] if widget["type"] == "log"
    ]


def test_queries_read_fields_and_texts_that_are_really_written(
    template: dict[str, Any], said: list[dict[str, Any]]
) -> None:
    written = {name for line in said for name in line}
    texts = {line.get("message") for line in said}
    assert len(queries(template)) == 4
    for query in queries(template):
        assert fields_of(query)
        assert fields_of(query) - written == set()
        for found in re.findall(r"message (?:= |in \[)([^|\n\]]+)", query):
            assert set(re.findall(r"[\"']([^\"']+)[\"']", found)) <= texts


def test_one_correlation_id_is_the_whole_story(said: list[dict[str, Any]]) -> None:
    story = [line["message"] for line in said if line.get("correlation_id") == "one-story"]
    assert {"delivery", "job done", "job retried", "job failed"} <= set(story)


def test_the_queries_for_a_story_search_every_log_of_the_machine(template: dict[str, Any]) -> None:
    groups = {one["Ref"] for one in template["Resources"]["CorrelationQuery"]["Properties"]["LogGroupNames"]}
    logs = {name for name, one in template["Resources"].items() if one["Type"] == "AWS::Logs::LogGroup"}
    assert logs - groups == {"ApiLogs", "AlarmLogs", "MigrateLogs"}
