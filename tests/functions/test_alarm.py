"""functions/alarm: SNS in, Telegram out, on a real port; no database anywhere."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemill import alarm
from tidemill.errors import ConfigurationError, PermanentError, RateLimited, RequestFailed

from functions.alarm.app import handler
from local.telegram import Telegram

ROOT = Path(__file__).parents[2]
EXAMPLE = json.loads((ROOT / "events/alarm.json").read_text("utf-8"))
ALARM = json.loads(EXAMPLE["Records"][0]["Sns"]["Message"])
TOKEN = "1:hush-hush-hush"


@pytest.fixture
def telegram(monkeypatch: pytest.MonkeyPatch) -> Iterator[Telegram]:
    stand_in = Telegram()
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("TELEGRAM_API", stand_in.url)
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", TOKEN)
    monkeypatch.setenv("TELEGRAM_ALERT_CHAT_ID", "-7")
    yield stand_in
    stand_in.close()


def sns(*contents: object) -> dict[str, Any]:
    """An SNS event with these messages; what is no text is JSON."""
    texts = [content if isinstance(content, str) else json.dumps(content) for content in contents]
    return {"Records": [{"EventSource": "aws:sns", "Sns": {"Subject": "s", "Message": text}} for text in texts]}


def changed(**fields: object) -> dict[str, Any]:
    return sns({**ALARM, **fields})


def told(telegram: Telegram, event: object) -> str:
    handler(event, None)
    [sent] = telegram.sent
    assert sent.chat_id == "-7"
    return sent.text


def test_an_alarm_is_told_in_words_with_its_time_and_its_place(telegram: Telegram) -> None:
    assert told(telegram, EXAMPLE).split("\n") == [
        "ALARM: tidemill-failed-jobs",
        "Jobs have failed for good. Look at the console page, fix the cause, retry.",
        "since 2027-04-30 09:00:12 UTC",
        "account 123456789012, EU (Milan)",
        "https://eu-south-1.console.aws.amazon.com/cloudwatch/home?region=eu-south-1#alarmsV2:alarm/tidemill-failed-jobs",
        ALARM["NewStateReason"],
    ]


@pytest.mark.parametrize(
    ("new", "old", "headline"),
    [
        ("OK", "ALARM", "Over: "),
        ("OK", "INSUFFICIENT_DATA", "Fine, after a time without data: "),
        ("INSUFFICIENT_DATA", "OK", "No data: "),
        ("ALARM", "INSUFFICIENT_DATA", "ALARM: "),
    ],
)
def test_each_change_of_state_has_its_words(telegram: Telegram, new: str, old: str, headline: str) -> None:
    text = told(telegram, changed(NewStateValue=new, OldStateValue=old))
    assert text.startswith(f"{headline}tidemill-failed-jobs\nJobs have failed for good.")


def test_a_time_of_another_offset_is_told_in_utc(telegram: Telegram) -> None:
    assert "since 2027-04-30 06:00:12 UTC" in told(telegram, changed(StateChangeTime="2027-04-30T09:00:12.345+0300"))


def test_what_is_missing_is_left_out(telegram: Telegram) -> None:
    event = sns({"AlarmName": "bare", "NewStateValue": "ALARM", "AlarmDescription": None, "Region": 7})
    assert told(telegram, event) == "ALARM: bare"


@pytest.mark.parametrize(
    ("arn", "link"),
    [
        (
            "arn:aws-cn:cloudwatch:cn-north-1:1:alarm:a",
            "https://cn-north-1.console.amazonaws.cn/cloudwatch/home?region=cn-north-1#alarmsV2:alarm/a",
        ),
        (
            "arn:aws:cloudwatch:us-east-1:1:alarm:my alarm/é?",
            "https://us-east-1.console.aws.amazon.com/cloudwatch/home?region=us-east-1#alarmsV2:alarm/my%20alarm%2F%C3%A9%3F",
        ),
        ("arn:aws-iso:cloudwatch:us-iso-east-1:1:alarm:a", None),
        ("EXAMPLE", None),
    ],
)
def test_the_link_leads_to_the_console_of_the_alarms_own_region(telegram: Telegram, arn: str, link: str | None) -> None:
    lines = told(telegram, changed(AlarmArn=arn)).split("\n")
    assert [line for line in lines if line.startswith("http")] == ([link] if link else [])


@pytest.mark.parametrize(
    "content",
    ["a note", '{"AlarmName": "a", "NewStateValue": "PURPLE"}', '{"AlarmName": ["a"], "NewStateValue": "OK"}', "[1]"],
)
def test_what_is_no_alarm_is_told_as_it_came(telegram: Telegram, content: str) -> None:
    assert told(telegram, sns(content)) == f"Something came to the topic of the alarms that is no alarm:\ns\n{content}"


@pytest.mark.parametrize("event", [None, [], {}, {"Records": []}, {"Records": "x"}, {"a": "b"}])
def test_what_is_no_sns_event_is_told_as_it_came(telegram: Telegram, event: object) -> None:
    shown = json.dumps(event).replace(" ", "")
    assert told(telegram, event) == f"The alarm function was invoked with something that is no SNS event:\n{shown}"


@pytest.mark.parametrize("record", [None, {"body": "x"}, {"Sns": {"Message": 5}}])
def test_a_record_of_something_else_is_told_beside_its_neighbours(telegram: Telegram, record: object) -> None:
    handler({"Records": [record, *EXAMPLE["Records"]]}, None)
    first, second = telegram.sent
    assert first.text.startswith("A record came to the alarm function that is not from SNS:\n")
    assert second.text.startswith("ALARM: ")


def test_a_long_text_is_cut_and_no_secret_is_left_not_even_half_of_one(telegram: Telegram) -> None:
    text = told(telegram, sns("x" * 2900 + TOKEN + "y" * 200_000))
    assert len(text.encode()) <= alarm.LONGEST
    assert "hush" not in text and "***" in text


@pytest.mark.parametrize(("status", "error"), [(502, RequestFailed), (400, PermanentError)])
def test_what_telegram_did_not_take_raises_so_that_lambda_tries_again(
    telegram: Telegram, status: int, error: type[Exception]
) -> None:
    telegram.fail(1, status)
    with pytest.raises(error):
        handler(EXAMPLE, None)
    assert told(telegram, EXAMPLE).startswith("ALARM: ")


def test_a_pause_that_telegram_wants_raises_too(telegram: Telegram) -> None:
    telegram.limit(1, 30)
    with pytest.raises(RateLimited):
        handler(EXAMPLE, None)


def test_one_that_fails_keeps_no_other_from_being_told(telegram: Telegram) -> None:
    telegram.fail(1)
    with pytest.raises(RequestFailed):
        handler(sns("first", "second"), None)
    assert [sent.text.split("\n")[-1] for sent in telegram.sent] == ["second"]


def test_a_telegram_that_is_away_raises_without_the_token(telegram: Telegram, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("TELEGRAM_API", f"http://127.0.0.1:{free.getsockname()[1]}")
    with pytest.raises(RequestFailed) as raised:
        handler(EXAMPLE, None)
    assert "hush" not in repr(raised.getrepr())


@pytest.mark.parametrize("name", ["TELEGRAM_ALERT_CHAT_ID", "TELEGRAM_BOT_TOKEN"])
def test_a_missing_setting_is_named_and_the_alarm_is_in_the_log(
    telegram: Telegram, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.delenv(name)
    with pytest.raises(ConfigurationError, match=f"missing settings: {name}"):
        handler(EXAMPLE, None)
    [line] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (line["level"], line["alarm"].split("\n")[0]) == ("ERROR", "ALARM: tidemill-failed-jobs")


_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
_fields = st.dictionaries(st.sampled_from(sorted(ALARM)), _json)


@given(st.one_of(_json, _fields.map(lambda fields: sns(json.dumps({**ALARM, **fields}))), _fields.map(sns)))
def test_whatever_comes_there_is_something_to_tell(event: object) -> None:
    assert all(text.strip() for text in alarm.texts(event))
    assert alarm.texts(event)


def test_it_runs_where_there_is_no_database_and_no_driver_for_one(telegram: Telegram) -> None:
    """The path by which a broken database is told does not depend on it."""
    code = (
        "import json, sys; sys.modules['psycopg'] = None\n"
        "from functions.alarm.app import handler\n"
        "handler(json.load(open('events/alarm.json')), None)"
    )
    environ = {**os.environ, "PYTHONPATH": f"{ROOT / 'layers/tidemill/python'}:{ROOT}"}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environ, check=True)
    assert [sent.text.split("\n")[0] for sent in telegram.sent] == ["ALARM: tidemill-failed-jobs"]
