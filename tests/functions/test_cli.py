"""tidemill, as people call it, against a database."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tidemill import tables
from tidemill.cli import main
from tidemill.wire import Connection

from tests.functions.calling import add_failed, answer, call, run


def test_failed_jobs_are_a_table_for_people(operated: object, connection: Connection) -> None:
    job = add_failed(connection)
    result = call("failed")
    assert result.exit_code == 0
    [row] = [line for line in result.stdout.splitlines() if "KeyError" in line]
    assert row.split()[:3] == [str(job), "order.announce", "0"]
    assert row.rstrip().endswith("KeyError: number")


def test_json_is_the_answer_and_nothing_else(operated: object, connection: Connection) -> None:
    job = add_failed(connection)
    assert [one["id"] for one in answer("failed", "--limit", "1", "--kind", "order.announce")["jobs"]] == [job]
    assert answer("stats")["jobs"]["failed"] == 1


def test_each_command_reaches_the_operator(operated: object, connection: Connection) -> None:
    job = add_failed(connection)
    assert answer("retry", str(job), "--by", "ann")["outcome"] == "redriven"
    assert answer("show", str(job))["job"]["status"] == "pending"
    assert answer("cancel", str(job), "--by", "ann")["status"] == "discarded"
    assert answer("retry", str(job), "--force", "--by", "ann")["copy_of"] == job
    assert answer("pause", "telegram", "--for", "600", "--by", "ann")["limit"] == "telegram"
    assert answer("resume", "telegram", "--by", "ann")["limit"] == "telegram"
    rows = connection.execute("insert into events (source, body) values ('shop', '{\"number\": 1}') returning id").fetchall()
    event = rows[0][0]
    assert answer("replay", str(event), "--by", "ann")["jobs"][0]["outcome"] == "created"
    assert answer("show", "--event", str(event))["event"]["body"] == '{"number": 1}'
    assert answer("search", str(event))["events"][0]["id"] == event
    assert answer("rejected", "--source", "shop", "--since", "1h")["rejected"] == []
    done = [one["command"] for one in answer("operations")["operations"] if one["by"] == "ann"]
    assert done == ["replay", "resume", "pause", "retry", "cancel", "retry"]


def test_the_command_line_has_every_command_of_the_operator() -> None:
    from tidemill.operate import COMMANDS

    assert set(COMMANDS) <= {one.name for one in main.app.registered_commands}


def test_a_sample_of_what_was_rejected_is_put_into_words(operated: object, connection: Connection) -> None:
    sample = {"status": 401, "method": "POST", "path": "/hooks/shop", "headers": ["a"], "body_bytes": 2, "source_ip": "::1"}
    connection.execute(
        "insert into rejections (source, reason, hour, count, last_at, sample) values ('shop', 'no', now(), 3, now(), %s)",
        [json.dumps(sample)],
    )
    assert "POST /hooks/shop from ::1, 2 bytes, answered 401" in call("rejected").stdout
    assert answer("rejected")["rejected"][0]["sample"] == sample


def test_a_schedule_is_listed_with_its_next_slot(operated: pytest.MonkeyPatch) -> None:
    operated.setenv("AUTOMATIONS", "tests.functions.scheduled")
    [one] = answer("schedules")["schedules"]
    assert (one["name"], one["tz"], one["overdue"]) == ("digest", "Europe/Rome", False)
    assert "T09:00:00+0" in one["next_slot"]
    assert "Europe/Rome" in call("schedules").stdout


def test_many_are_retried_by_filters_after_a_dry_run(operated: object, connection: Connection) -> None:
    add_failed(connection)
    gone = add_failed(connection, kind="gone")
    filters = ("retry", "--error-class", "KeyError", "--since", "2h")
    assert answer(*filters, "--dry-run")["changed"] == 0
    result = answer(*filters)
    assert (result["matched"], result["changed"], result["refused"][0]["id"]) == (2, 1, gone)


def test_events_are_replayed_by_filters(operated: object, connection: Connection) -> None:
    connection.execute("insert into events (source, body, route_error) values ('shop', '{\"number\": 1}', 'KeyError')")
    assert answer("replay", "--unrouted", "--source", "shop", "--dry-run")["jobs"] == {"created": 1}
    assert answer("replay", "--unrouted", "--since", "2h", "--until", "1m")["matched"] == 0


def test_who_gave_a_command_is_the_user_unless_said(operated: pytest.MonkeyPatch, connection: Connection) -> None:
    operated.setenv("LOGNAME", "carol")
    answer("retry", str(add_failed(connection)))
    assert connection.execute("select by from operations").fetchall() == [("carol",)]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["retry", "99"], 1),
        (["show", "99"], 1),
        (["cancel", "99"], 1),
        (["pause", "nothing"], 1),
        (["retry"], 2),
        (["retry", "12abc"], 2),
        (["retry", "--since", "yesterday"], 2),
        (["replay", "--since", "1m", "--until", "1h"], 2),
        (["failed", "--after", "%%"], 2),
        (["frobnicate"], 2),
        (["stats", "--stack", "a", "--function", "b"], 2),
        (["stats", "--stack", "a", "--database", "postgresql:///b"], 2),
        (["tail", "--every", "0"], 2),
    ],
)
def test_the_exit_code_tells_a_refusal_from_nonsense(operated: object, arguments: list[str], code: int) -> None:
    assert call(*arguments).exit_code == code


def test_a_refusal_says_why(operated: object) -> None:
    assert "there is no job 99" in call("retry", "99").stderr
    result = call("retry", "99", "--json")
    assert json.loads(result.stdout)["error"]["code"] == "not_found"
    assert (result.exit_code, result.stderr) == (1, "")


def test_a_command_with_nowhere_to_go_is_refused(operated: pytest.MonkeyPatch) -> None:
    operated.delenv("DATABASE_URL")
    result = call("stats")
    assert result.exit_code == 2 and "--stack" in result.stderr


def test_a_database_may_be_named_by_its_secret(operated: pytest.MonkeyPatch, database_url: str) -> None:
    """As the functions find theirs."""
    operated.delenv("DATABASE_URL")
    operated.setenv("DATABASE_SECRET_ARN", "arn:aws:secretsmanager:eu-south-1:1:secret:db")
    operated.setattr("tidemill.settings._from_secrets_manager", lambda arn: "[]")
    result = call("stats")
    assert result.exit_code == 3 and "must hold a JSON object" in result.stderr


def test_a_secret_that_cannot_be_read_is_no_traceback(operated: pytest.MonkeyPatch) -> None:
    operated.delenv("DATABASE_URL")
    operated.setenv("DATABASE_SECRET_ARN", "arn:aws:secretsmanager:eu-south-1:1:secret:db")
    operated.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    operated.setenv("AWS_MAX_ATTEMPTS", "1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        operated.setenv(name, "eu-south-1")
    result = run("stats")
    assert result.returncode == 3 and "Could not connect" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("how", ["environment", "option"])
@pytest.mark.parametrize(
    ("password", "error"),
    [("hush-hush-hush", "OperationalError"), ("hush-hush-hush%ZZ", "ConfigurationError")],
)
def test_a_database_that_is_away_is_said_without_its_password(
    operated: pytest.MonkeyPatch, password: str, error: str, how: str
) -> None:
    url = f"postgresql://ann:{password}@127.0.0.1:1/none"
    if how == "environment":
        operated.setenv("DATABASE_URL", url)
    result = call("stats", *(["--database", url] if how == "option" else []))
    assert result.exit_code == 3 and error in result.stderr
    assert "hush" not in result.output


def test_a_database_without_tables_says_what_to_do(operated: pytest.MonkeyPatch, postgres: Any) -> None:
    operated.setenv("DATABASE_URL", postgres.url())
    result = call("stats")
    assert result.exit_code == 3 and "tidemill migrate" in result.stderr


def test_automations_that_cannot_be_loaded_are_named(operated: pytest.MonkeyPatch) -> None:
    operated.setenv("AUTOMATIONS", "no_such_module")
    result = call("stats")
    assert result.exit_code == 3 and "no_such_module" in result.stderr


@pytest.mark.parametrize("command", [["stats"], ["send", "shop", "-", "--url", "http://127.0.0.1:1"]])
def test_an_automation_that_tells_a_secret_when_it_is_loaded_is_not_repeated(
    operated: pytest.MonkeyPatch, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "telling.py").write_text("import os; raise ValueError(os.environ['SHOP_WEBHOOK_SECRET'])")
    operated.syspath_prepend(str(tmp_path))
    operated.setenv("AUTOMATIONS", "telling")
    operated.setenv("SHOP_WEBHOOK_SECRET", "hush-hush-hush")
    result = call(*command)
    assert result.exit_code in (1, 3) and "telling cannot be loaded: ValueError: ***" in result.stderr
    assert "hush" not in result.output


def test_of_many_jobs_each_column_tells_something(operated: object, connection: Connection) -> None:
    add_failed(connection, key="17")
    assert "event_id" not in call("failed").stdout
    assert "jobs  none" in call("failed", "--kind", "other").stdout


def shown(answer: dict[str, Any], width: int = 200) -> str:
    out = io.StringIO()
    tables.show(Console(file=out, width=width), answer)
    return out.getvalue()


def test_what_came_from_outside_does_nothing_to_a_terminal() -> None:
    text = shown({"note": "[red]x[/nope]\x1b[2J", "jobs": [{"error": "\x1b]0;evil\x07[bold]"}]})
    assert "\x1b" not in text and "\x07" not in text
    assert "[red]x[/nope]\\x1b[2J" in text and "[bold]" in text


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_table_never_stands_over_the_edge_and_keeps_its_ids_whole(width: int) -> None:
    row = {"id": 1234567890, "kind": "order.announce", "last_error": "no number " * 20}
    row |= {"failed_at": "2027-04-30T09:00:00+00:00"}
    text = shown({"jobs": [row, row]}, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert text.count("1234567890") == 2
    assert text.count("2027-04-30 09:00:00Z") == 2


@pytest.mark.parametrize("width", [76, 90, 110])
def test_an_address_is_never_folded_in_a_table(width: int) -> None:
    row = {"source": "shop", "address": "https://hooks.example.com/hooks/shop", "register": "the Dashboard, Webhooks " * 3}
    text = shown({"sources": [row, row]}, width)
    assert text.count(row["address"]) == 2
    assert text.splitlines()[1].split() == ["source", "address", "register"]


def test_rows_that_are_too_wide_for_a_table_stand_below_one_another() -> None:
    text = shown({"jobs": [{"kind": "order.announce", "worker": "w" * 20, "error": "KeyError"}]}, 40)
    assert text.splitlines()[0] == "jobs"
    assert [line.split() for line in text.splitlines() if line.strip()][1:] == [
        ["kind", "order.announce"], ["worker", "w" * 20], ["error", "KeyError"],
    ]  # fmt: skip
