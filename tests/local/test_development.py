"""The secrets of the local run, and what it shows."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from tidemill.errors import ConfigurationError

from local import needs
from local.console import readable
from local.development import complete, read
from local.stack import Line, Stack


def test_secrets_are_made_once_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "new" / "settings.env"
    first = complete(path, ["A_SECRET", "B_SECRET", "A_SECRET"])
    assert complete(path, ["A_SECRET", "B_SECRET"]) == first == read(path)
    assert len(set(first.values())) == 2
    assert all(len(bytes.fromhex(value)) == 32 for value in first.values())


def test_only_the_owner_can_read_the_secrets(tmp_path: Path) -> None:
    path = tmp_path / "settings.env"
    complete(path, ["A_SECRET"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_a_developer_wrote_stays(tmp_path: Path) -> None:
    path = tmp_path / "settings.env"
    path.write_text("# mine\nA_SECRET = abc=\n\nB_SECRET=\n")
    found = complete(path, ["A_SECRET", "B_SECRET"])
    assert found["A_SECRET"] == "abc="
    assert len(found["B_SECRET"]) == 64
    assert path.read_text().startswith("# mine\nA_SECRET = abc=\n")


def environment(folder: Path, code: str) -> dict[str, str]:
    (folder / "mine.py").write_text(code)
    return {"PYTHONPATH": str(folder), "AUTOMATIONS": "mine"}


def test_the_sources_say_which_settings_they_need(tmp_path: Path) -> None:
    code = """
from tidemill import Source
from tidemill.verify import hmac_sha256
shop = Source("shop", verify=hmac_sha256("X-Sig", secret="SHOP_WEBHOOK_SECRET"))
print("noise")
"""
    with_tidemill = environment(tmp_path, code)
    with_tidemill["PYTHONPATH"] += f":{Path(needs.ROOT, 'layers/tidemill/python')}"
    assert needs.ask(with_tidemill) == {"shop": ["SHOP_WEBHOOK_SECRET"]}


def test_an_automation_that_cannot_be_loaded_stops_the_start_and_is_named(tmp_path: Path) -> None:
    stack = Stack(environment(tmp_path, "import nothing_of_that_name"), folder=tmp_path / "run")
    with pytest.raises(ConfigurationError, match=r"mine .*nothing_of_that_name"):
        stack.__enter__()


def test_a_line_of_json_is_shown_for_people() -> None:
    machine = {"level": "INFO", "timestamp": "t", "correlation_id": "c"}
    line = {**machine, "message": "job done", "job": 7, "what": "a b", "no": None}
    assert readable(Line("drain", json.dumps(line))) == 'drain    | job done job=7 what="a b"'


def test_what_is_no_info_says_its_level() -> None:
    assert readable(Line("drain", '{"level": "ERROR", "message": "bad"}')) == "drain    | error: bad"


def test_metrics_are_not_shown_and_plain_lines_stay_as_they_are() -> None:
    assert readable(Line("drain", '{"_aws": {}, "JobsDone": 1}')) is None
    assert readable(Line("drain", "plain")) == "drain    | plain"
    assert readable(Line("drain", "[1]")) == "drain    | [1]"
