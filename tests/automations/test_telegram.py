"""The shipped bot on a whole machine, with the local stand-in for Telegram on a port."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from automations.telegram import telegram as source
from tidemill import app, gateway
from tidemill.app import App
from tidemill.model import Accepted, Refused, Request
from tidemill.wire import Connection

from local.telegram import BOT, Telegram
from tests.automations.conftest import SECRETS, sample
from tests.conftest import ROOT

GROUP, NEW_GROUP, PERSON = -5, -1001, 41
TOKEN = "123456:AA-test"


@pytest.fixture
def telegram() -> Iterator[Telegram]:
    stand_in = Telegram()
    yield stand_in
    stand_in.close()


@pytest.fixture
def environ(database_url: str, telegram: Telegram) -> dict[str, str]:
    return {
        **SECRETS,
        "DATABASE_URL": database_url,
        "TELEGRAM_API": telegram.url,
        "TELEGRAM_BOT_TOKEN": TOKEN,
        "TELEGRAM_ALERT_CHAT_ID": str(GROUP),
        "DRAIN_LINGER": "0",
    }


@pytest.fixture
def machine(environ: dict[str, str]) -> Iterator[App]:
    loaded = app.load(environ)
    yield loaded
    loaded.database.close()


def deliver(machine: App, update: Any) -> dict[str, Any]:
    """Deliver an update; answers what the intake answered. Everything is answered 202."""
    event = sample("intake-telegram")
    event["body"] = json.dumps(update)
    answer = machine.intake.handle(event, None)
    assert answer["statusCode"] == 202
    return dict(json.loads(answer["body"]))


def message(text: str, chat_id: int = GROUP, number: int = 1, **more: Any) -> dict[str, Any]:
    return {"update_id": number, "message": {"message_id": 1, "chat": {"id": chat_id}, "text": text, **more}}


def drain(machine: App) -> None:
    machine.drain.handle({}, None)


def sent(telegram: Telegram) -> list[tuple[str, str]]:
    return [(one.chat_id, one.text) for one in telegram.sent]


def jobs(connection: Connection) -> list[tuple[Any, ...]]:
    return connection.execute("select kind, status, attempts, last_error from jobs order by id").fetchall()


def test_the_sample_delivery_is_genuine_and_its_key_is_the_update_id() -> None:
    assert source.check(gateway.request_of(sample("intake-telegram")), SECRETS, 0) == Accepted("730184201")


@pytest.mark.parametrize("secret", ["", "telegram-test-secreT", "\u00e9", None])
def test_an_update_without_the_secret_is_refused(secret: str | None) -> None:
    headers = [] if secret is None else [("X-Telegram-Bot-Api-Secret-Token", secret)]
    assert isinstance(source.check(Request("POST", "https://mill.test/", headers, b"{}"), SECRETS, 0), Refused)


def test_a_ping_is_answered_with_pong(machine: App, telegram: Telegram, connection: Connection) -> None:
    answer = machine.intake.handle(sample("intake-telegram"), None)
    assert (answer["statusCode"], json.loads(answer["body"])["jobs"]) == (202, 1)
    assert json.loads(machine.intake.handle(sample("intake-telegram"), None)["body"])["duplicate"] is True
    drain(machine)
    assert sent(telegram) == [("1870042", "pong")]
    ((headers,),) = connection.execute("select headers::text from events").fetchall()
    assert "telegram-test-secret" not in headers


@pytest.mark.parametrize(
    ("text", "answered"), [(f"/ping@{BOT}", True), (f"/PING@{BOT.lower()} x", True), ("/ping@OtherBot", False)]
)
def test_a_command_may_name_its_bot(machine: App, telegram: Telegram, text: str, answered: bool) -> None:
    """B91"""
    deliver(machine, message(text))
    drain(machine)
    assert sent(telegram) == [(str(GROUP), "pong")] * answered


@pytest.mark.parametrize(
    "update",
    [
        {"edited_message": {"chat": {"id": GROUP}, "text": "/ping"}},
        {"channel_post": {"chat": {"id": GROUP}, "text": "/ping"}},
        {"my_chat_member": {"chat": {"id": GROUP}, "new_chat_member": {"status": "kicked"}}},
        {"message": {"chat": {"id": GROUP}, "sticker": {}}},
        {"message": None},
        {"purchased_paid_media": {}},
        [],
        None,
    ],
)
def test_any_other_update_is_stored_and_makes_no_job(machine: App, connection: Connection, update: Any) -> None:
    """B90"""
    assert deliver(machine, update)["jobs"] == 0
    ((body, error),) = connection.execute("select body, route_error from events").fetchall()
    assert (json.loads(bytes(body)), error) == (update, None)


def test_with_the_database_away_telegram_is_asked_to_send_again(machine: App, connection: Connection) -> None:
    """B90"""
    connection.execute("alter table events rename to away")
    assert machine.intake.handle(sample("intake-telegram"), None)["statusCode"] == 503


def test_a_pressed_button_comes_to_rest(machine: App, telegram: Telegram, connection: Connection) -> None:
    deliver(machine, {"update_id": 1, "callback_query": {"id": "4382", "from": {"id": PERSON}, "data": "nobody's"}})
    drain(machine)
    assert telegram.pressed == ["4382"]
    assert jobs(connection) == [("telegram.button-pressed", "done", 1, None)]


def test_a_person_who_blocked_the_bot_is_told_of_once_and_not_asked_again(
    machine: App, telegram: Telegram, connection: Connection
) -> None:
    """B88"""
    telegram.block(PERSON)
    deliver(machine, message("/ping", PERSON))
    drain(machine)
    error = (
        "Telegram sendMessage: status 403: Forbidden: bot was blocked by the user"
        f" (the chat {PERSON} has to let the bot in again: start it there, or add it)"
    )
    assert jobs(connection) == [("telegram.ping", "failed", 1, error)]
    assert [text.splitlines()[1] for _, text in sent(telegram)] == [f"PermanentError: {error}"]


def test_a_group_that_has_moved_is_answered_under_its_new_id(
    machine: App, telegram: Telegram, connection: Connection
) -> None:
    """B88"""
    telegram.move(GROUP, NEW_GROUP)
    deliver(machine, message("/ping"))
    drain(machine)
    assert (sent(telegram), jobs(connection)) == ([(str(NEW_GROUP), "pong")], [("telegram.ping", "done", 1, None)])


def test_that_the_group_of_the_alerts_has_moved_is_told_once(
    machine: App, telegram: Telegram, connection: Connection
) -> None:
    """B88: Telegram tells it in both groups, and may deliver an update again under another number."""
    telegram.move(GROUP, NEW_GROUP)
    for number in (1, 2):
        deliver(machine, message("", number=number, migrate_to_chat_id=NEW_GROUP))
    deliver(machine, message("", NEW_GROUP, 3, migrate_from_chat_id=GROUP))
    drain(machine)
    text = f"This chat has become a supergroup: put its new id {NEW_GROUP} into TELEGRAM_ALERT_CHAT_ID."
    assert sent(telegram) == [(str(NEW_GROUP), text)]


def test_alerts_for_a_group_that_has_moved_arrive_and_say_so_once(machine: App, telegram: Telegram) -> None:
    """B88"""
    telegram.move(GROUP, NEW_GROUP)
    for name in ("first", "second"):
        machine.alerts.alert(name)
    told = f"the chat {GROUP} has become a supergroup: put its new id {NEW_GROUP} into TELEGRAM_ALERT_CHAT_ID"
    assert sent(telegram) == [(str(NEW_GROUP), text) for text in ("first", told, "second")]


def test_a_pause_that_telegram_asks_for_uses_no_attempt(machine: App, telegram: Telegram, connection: Connection) -> None:
    """B89"""
    telegram.limit(1, retry_after=37)
    deliver(machine, message("/ping"))
    drain(machine)
    later = "run_at > now() + interval '36 seconds'"
    assert connection.execute(f"select status, attempts, {later} from jobs").fetchall() == [("pending", 0, True)]


def test_no_row_and_no_line_shows_the_token(
    machine: App, telegram: Telegram, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    """B85"""
    telegram.fail(1, 404)
    deliver(machine, message("/ping"))
    drain(machine)
    ((rows,),) = connection.execute("select string_agg(jobs::text, ' ') from jobs").fetchall()
    assert "status 404" in rows
    assert "AA-test" not in rows + capsys.readouterr().out + str(sent(telegram))


def test_the_bot_of_the_docs_answers(
    environ: dict[str, str], telegram: Telegram, connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, code, *_ = (ROOT / "docs/telegram.md").read_text("utf-8").split("```")
    (tmp_path / "bot_of_the_docs.py").write_text(code.removeprefix("python"), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    connection.execute("insert into invoices (number, customer, amount, due_on) values ('INV-1', 'Ada', 120, current_date)")
    loaded = app.load({**environ, "AUTOMATIONS": "bot_of_the_docs"})
    deliver(loaded, message("/owes Ada"))
    drain(loaded)
    loaded.database.close()
    assert sent(telegram) == [(str(GROUP), "Ada owes 120.00")]
