"""tidemill sources: what is there, what it needs, and telling Telegram."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from local.telegram import Telegram
from tests.functions.calling import answer, call
from tests.functions.invoking import Lambda

TEMPLATE = '{"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}, "Outputs": {"Url": {"Value": "https://abc.example.com"}}}'


@pytest.fixture
def here(operated: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    operated.setenv("AUTOMATIONS", "tests.functions.sending")
    operated.setenv("STRIPE_WEBHOOK_SECRET", "whsec_hush-stripe")
    for name in ("SQUARE_WEBHOOK_SECRET", "BOT_WEBHOOK_SECRET"):
        operated.delenv(name, raising=False)
    operated.chdir(tmp_path)
    return operated


@pytest.fixture
def telegram(here: pytest.MonkeyPatch) -> Iterator[Telegram]:
    stand_in = Telegram()
    here.setenv("TELEGRAM_API", stand_in.url)
    here.setenv("TELEGRAM_BOT_TOKEN", "1:hush-token-hush")
    here.setenv("BOT_WEBHOOK_SECRET", "hush-bot")
    yield stand_in
    stand_in.close()


def test_each_source_is_listed_with_what_it_needs(here: pytest.MonkeyPatch) -> None:
    here.setenv("PUBLIC_URL", "https://hooks.example.com")
    found = {one["name"]: one for one in answer("sources")["sources"]}
    assert found["stripe"]["url"] == "https://hooks.example.com/hooks/stripe"
    assert found["stripe"]["secrets"] == [{"setting": "STRIPE_WEBHOOK_SECRET", "set": True}]
    assert (found["square"]["ready"], found["own"]["ready"]) == (False, True)
    assert [name for name, one in found.items() if one["by_command"]] == ["bot"]
    assert "Webhooks" in found["stripe"]["register"]


def test_people_see_a_table_without_a_secret(here: pytest.MonkeyPatch) -> None:
    result = call("sources", "--url", "https://hooks.example.com/")
    assert result.exit_code == 0
    for said in (
        "STRIPE_WEBHOOK_SECRET (set)", "SQUARE_WEBHOOK_SECRET (missing)", "https://hooks.example.com/hooks/square",
        "tidemill sources --register bot",
    ):  # fmt: skip
        assert said in result.stdout
    assert "hush" not in result.output


def test_settings_of_a_file_count_and_the_environment_goes_before(here: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "more.env"
    file.write_text("SQUARE_WEBHOOK_SECRET = hush-square\nPUBLIC_URL=https://file.example.com\n#BOT_WEBHOOK_SECRET=x\n")
    here.setenv("PUBLIC_URL", "https://hooks.example.com")
    found = {one["name"]: one for one in answer("sources", "--settings", str(file))["sources"]}
    assert (found["square"]["ready"], found["bot"]["ready"]) == (True, False)
    assert found["square"]["url"] == "https://hooks.example.com/hooks/square"


def test_telegram_is_told_the_address(telegram: Telegram) -> None:
    result = call("sources", "--register", "bot", "--url", "https://hooks.example.com")
    assert result.exit_code == 0, result.output
    assert (telegram.webhook["url"], telegram.webhook["secret_token"]) == ("https://hooks.example.com/hooks/bot", "hush-bot")
    assert "https://hooks.example.com/hooks/bot" in result.stdout
    assert "hush" not in result.output


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("nobody", 1, "there is no source 'nobody'"),
        ("stripe", 1, "can only be told by a person"),
        ("bot", 2, "give --url, or set PUBLIC_URL"),
    ],
)
def test_what_cannot_be_registered_says_why(telegram: Telegram, name: str, code: int, said: str) -> None:
    result = call("sources", "--register", name)
    assert result.exit_code == code and said in " ".join(result.stderr.replace("│", " ").split())
    assert telegram.webhook == {}


def test_what_telegram_refuses_is_said_without_its_token(telegram: Telegram, here: pytest.MonkeyPatch) -> None:
    here.setenv("BOT_WEBHOOK_SECRET", "not for Telegram!")
    result = call("sources", "--register", "bot", "--url", "https://hooks.example.com")
    assert result.exit_code == 1 and "BOT_WEBHOOK_SECRET" in result.stderr
    assert "hush" not in result.output and "not for" not in result.output


def test_of_a_stack_the_addresses_are_those_of_its_output(aws: str, lambda_api: Lambda, here: pytest.MonkeyPatch) -> None:
    client = boto3.client("cloudformation", region_name="eu-south-1")
    client.create_stack(StackName="prod", TemplateBody=TEMPLATE)
    try:
        found = answer("sources", "--stack", "prod")["sources"]
    finally:
        client.delete_stack(StackName="prod")
    assert {one["url"] for one in found} == {f"https://abc.example.com/hooks/{one['name']}" for one in found}


def test_who_may_not_ask_for_the_address_sees_the_rest(aws: str, lambda_api: Lambda, here: pytest.MonkeyPatch) -> None:
    found = answer("sources", "--stack", "prod")["sources"]
    assert {one["url"] for one in found} == {None}
    assert "STRIPE_WEBHOOK_SECRET (set)" in call("sources", "--stack", "prod").stdout
