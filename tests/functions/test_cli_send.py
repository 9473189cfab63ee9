"""tidemill send: a delivery that the real intake function takes for genuine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from tidemill.wire import Connection

from local.server import Server
from tests.functions.calling import call, run
from tests.functions.invoking import Lambda
from tests.functions.sending import listen

SECRETS = {
    "STRIPE_WEBHOOK_SECRET": "whsec_hush-stripe",
    "SQUARE_WEBHOOK_SECRET": "hush-square",
    "BOT_WEBHOOK_SECRET": "hush-bot",
}


@pytest.fixture
def intake(operated: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    """The intake, listening, with all secrets set; the test is in an empty folder."""
    operated.setenv("AUTOMATIONS", "tests.functions.sending")
    operated.chdir(tmp_path)
    for name, value in SECRETS.items():
        operated.setenv(name, value)
    with listen() as server:
        yield server


def body(folder: Path, **fields: Any) -> str:
    path = folder / "body.json"
    path.write_text(json.dumps({"id": "evt_1", "type": "test", **fields}))
    return str(path)


def stored(connection: Connection) -> list[tuple[Any, ...]]:
    return connection.execute("select source, dedup_key, headers->>'content-type', body from events order by id").fetchall()


@pytest.mark.parametrize(("source", "key"), [("stripe", "evt_1"), ("square", "17"), ("bot", "8")])
def test_a_delivery_is_signed_as_its_sender_signs(
    intake: Server, connection: Connection, tmp_path: Path, source: str, key: str
) -> None:
    """Square signs the address, too, as the intake sees it."""
    file = body(tmp_path, event_id="17", update_id=8)
    result = call("send", source, file, "--url", intake.url, "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout[result.stdout.rindex('{"ok"') :])
    assert (said["ok"], said["status"], said["answer"]["jobs"]) == (True, "202 Accepted", 0)
    assert said["location"].startswith(f"{intake.url}/events/{said['answer']['id']}-")
    assert stored(connection) == [(source, key, "application/json", Path(file).read_bytes())]
    assert not [secret for secret in SECRETS.values() if secret in result.output]


def test_a_public_address_is_the_one_that_is_signed(
    intake: Server, connection: Connection, tmp_path: Path, operated: pytest.MonkeyPatch
) -> None:
    operated.setenv("PUBLIC_URL", "https://hooks.example.com/base/")
    assert call("send", "square", body(tmp_path), "--url", intake.url).exit_code == 0
    assert len(stored(connection)) == 1


def test_a_delivery_that_is_refused_shows_the_answer(
    intake: Server, connection: Connection, tmp_path: Path, operated: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.env"
    other.write_text("# of another place\nSTRIPE_WEBHOOK_SECRET=hush-other\n")
    operated.delenv("STRIPE_WEBHOOK_SECRET")
    operated.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    with listen() as unconfigured:
        result = call("send", "stripe", body(tmp_path), "--url", unconfigured.url, "--settings", str(other))
    assert result.exit_code == 1
    assert "503" in result.stdout and "not set up yet" in result.stdout
    assert "hush" not in result.output
    assert stored(connection) == []


def test_the_secrets_of_the_local_run_are_found(intake: Server, connection: Connection, tmp_path: Path) -> None:
    """In the file that it writes, in the folder where it runs."""
    file = tmp_path / ".tidemill" / "settings.env"
    file.parent.mkdir()
    file.write_text(f"# made up\nSTRIPE_WEBHOOK_SECRET={SECRETS['STRIPE_WEBHOOK_SECRET']}\n")
    result = run("send", "stripe", "-", "--url", intake.url, stdin="{}", STRIPE_WEBHOOK_SECRET="")
    assert result.returncode == 0, result.stderr
    assert len(stored(connection)) == 1


def test_a_body_that_is_no_json_is_sent_as_a_form_unless_told(
    intake: Server, connection: Connection, tmp_path: Path
) -> None:
    for arguments in ([], ["--header", "content-type: text/plain"]):
        result = run("send", "stripe", "-", "--url", intake.url, *arguments, stdin="payload=1")
        assert result.returncode == 0, result.stderr
    assert [(type_, body) for _, _, type_, body in stored(connection)] == [
        ("application/x-www-form-urlencoded", b"payload=1"), ("text/plain", b"payload=1"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["send", "nobody", "FILE"], 1, "there is no source 'nobody', only bot, own, square, stripe, yookassa"),
        (["send", "yookassa", "FILE"], 1, "cannot be made here"),
        (["send", "own", "FILE"], 1, "has a verification of its own, which cannot sign"),
        (["send", "stripe", "/nowhere.json"], 2, "/nowhere.json: No such file"),
        (["send", "stripe", "FILE", "--header", "no colon"], 2, "--header must be 'Name: value'"),
        (["send", "stripe", "FILE", "--url", "example.com"], 2, "--url"),
        (["send", "stripe", "FILE", "--settings", "/nowhere.env"], 2, "/nowhere.env"),
        (["send", "stripe", "FILE", "--url", "http://127.0.0.1:1"], 3, "127.0.0.1:1 does not answer: ConnectionError"),
    ],
)
def test_what_cannot_be_sent_says_why(intake: Server, tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    file = body(tmp_path)
    result = call(*(file if one == "FILE" else one for one in arguments))
    assert result.exit_code == code
    assert said in " ".join(result.stderr.replace("│", " ").split())


def test_a_secret_that_is_missing_is_named(intake: Server, tmp_path: Path, operated: pytest.MonkeyPatch) -> None:
    operated.delenv("STRIPE_WEBHOOK_SECRET")
    result = call("send", "stripe", body(tmp_path), "--url", intake.url)
    assert result.exit_code == 1 and "the setting STRIPE_WEBHOOK_SECRET is missing" in result.stderr


@pytest.fixture
def secret(aws: str, lambda_api: Lambda, operated: pytest.MonkeyPatch) -> Iterator[str]:
    """The secret with the settings of the stack; this environment has none of them."""
    client = boto3.client("secretsmanager", region_name="eu-south-1")
    arn = client.create_secret(Name="settings", SecretString=json.dumps(SECRETS))["ARN"]
    yield arn
    client.delete_secret(SecretId=arn, ForceDeleteWithoutRecovery=True)


def test_to_a_stack_it_is_signed_with_the_secret_of_the_stack(
    intake: Server, secret: str, lambda_api: Lambda, connection: Connection, tmp_path: Path, operated: pytest.MonkeyPatch
) -> None:
    lambda_api.variables = {"SETTINGS_SECRET_ARN": secret, "PUBLIC_URL": intake.url, "DATABASE_SECRET_ARN": "arn:not-read"}
    result = run(
        "send", "stripe", body(tmp_path), "--stack", "prod", "--json",
        STRIPE_WEBHOOK_SECRET="", PUBLIC_URL="", DATABASE_URL="",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert stored(connection)[0][:2] == ("stripe", "evt_1")


def test_who_may_not_read_the_secret_of_the_stack_uses_his_own(
    intake: Server, aws: str, lambda_api: Lambda, connection: Connection, tmp_path: Path
) -> None:
    lambda_api.variables = {"SETTINGS_SECRET_ARN": "arn:aws:secretsmanager:eu-south-1:1:secret:none"}
    result = call("send", "stripe", body(tmp_path), "--stack", "prod", "--url", intake.url)
    assert result.exit_code == 0, result.output
    assert "the secrets of this environment are used" in result.stderr
    assert len(stored(connection)) == 1
