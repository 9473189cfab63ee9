"""No secret stands where it may not, whatever goes wrong: in the output of real processes, in answers, in any row.

Each setting that is secret has a value of its own with everything in it that an encoding may change. The flows go through
all functions, with handlers that put their secrets into errors and log lines in every form.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import pytest

from tests.canary import automations
from tests.canary.search import forms, found_in, leaks
from tests.conftest import ROOT
from tests.functions.intake.conftest import v1, v2

PASSWORD = 'pw:canary/+é &%"\\1'
SECRETS = {
    "SHOP_SIGNING": "canary-shop'\"/+ é\\n~1",  # its name does not tell
    "BOT_WEBHOOK_SECRET": "canary-bot-one, canary+bot/two=",
    "TELEGRAM_BOT_TOKEN": "123456:AAcanary-Telegram_token",
    "TELEGRAM_WEBHOOK_SECRET": "canary_hook-1",
    "MAIL_API_KEY": "key-canary %2F<&>\t{x}",
    "LONG_PRIVATE_KEY": "-----BEGIN-----\n" + "canarylongkey/+" * 40,
}


def named(settings: dict[str, str]) -> set[str]:
    """Each secret in these settings, the database's password as it is and as it stands in the address."""
    found = {part.strip() for name in SECRETS for part in settings[name].split(",")}
    return found | {PASSWORD, quote(PASSWORD, safe="")}


def leaking(told: str, settings: dict[str, str]) -> Iterator[str]:
    """The lines in which a secret stands: how they begin, and the places."""
    for line in told.splitlines():
        for place in found_in(line, named(settings)):
            yield f"{line[:200]} ... {place}"


@pytest.fixture
def settings(database_url: str) -> dict[str, str]:
    """The settings of a whole machine: its database takes any password, and nothing answers at its other addresses."""
    parts = urlsplit(database_url)
    address = parts._replace(netloc=f"{parts.username}:{quote(PASSWORD, safe='')}@{parts.netloc.rpartition('@')[2]}")
    return {
        **SECRETS,
        "DATABASE_URL": address.geturl(),
        "AUTOMATIONS": "tests.canary.automations",
        "SQL_FOLDER": str(ROOT / "sql"),
        "TELEGRAM_API": "http://127.0.0.1:1",
        "TELEGRAM_ALERT_CHAT_ID": "-7",
        "MAIL_API": "http://127.0.0.1:1",
        "DRAIN_LINGER": "0",
        "SECONDS_LEFT": "90",
    }


def run(settings: dict[str, str], *calls: tuple[str, object]) -> str:
    """Call functions in a process of their own; what it wrote."""
    path = os.pathsep.join(str(ROOT / part) for part in ("layers/tidemill/python", "layers/automations/python", "."))
    ended = subprocess.run(
        [sys.executable, "-m", "tests.canary.child"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path, **settings},
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


def order(make: Any, body: object, key: str, secret: str = SECRETS["SHOP_SIGNING"], **headers: str) -> tuple[str, object]:
    data = json.dumps(body).encode()
    signature = hmac.new(secret.encode(), data, hashlib.sha256).hexdigest()
    return "intake", make("/hooks/shop", data, {"X-Shop-Signature": signature, "X-Shop-Delivery": key, **headers})


def deliveries() -> list[tuple[str, object]]:
    """Taken, unrouted, repeated, forged and misdirected; with secrets in every header and in the address."""
    odd = {f"X-Odd-{name}": value for name, value in SECRETS.items()} | {
        "Authorization": f"Bearer {SECRETS['MAIL_API_KEY']}"
    }
    token = SECRETS["BOT_WEBHOOK_SECRET"].split(",")[0]
    found: list[tuple[str, object]] = []
    for make in (v1, v2):
        name = make.__name__
        found += [
            order(make, {"kinds": automations.KINDS}, f"{name}-1", **odd),
            order(make, {"kinds": []}, f"{name}-1"),
            order(make, {"kinds": [], "raise": True}, f"{name}-2"),
            order(make, {"kinds": []}, f"{name}-3", secret="forged", **odd),
            ("intake", make("/hooks/bot", b"{}", {"X-Bot-Token": token})),
            ("intake", make("/hooks/bot", b"{}", {"X-Bot-Token": token + "x", **odd})),
            ("intake", make(f"/hooks/{quote(SECRETS['MAIL_API_KEY'], safe='')}", b"{}", odd)),
            ("intake", make(f"/{token}", b"{}", odd)),
            ("intake", make("/health", method="GET")),
        ]
    return found


def commands() -> list[tuple[str, object]]:
    secret = SECRETS["MAIL_API_KEY"]
    given = [
        *({"command": name} for name in ("failed", "stats", "rejected")),
        {"command": "show", "event": 1},
        *({"command": "show", "job": number} for number in range(1, 20)),
        {"command": "retry", "kind": secret, "by": secret},
        {"command": "retry", "job": secret},
        {"command": secret},
        {"command": "retry", "error_class": "ValueError", "by": "ann"},
        {"command": "replay", "source": "shop", "since": "1h", "by": secret},
        {"command": "cancel", "job": 5, "by": secret},
        {"command": "pause", "limit": secret, "for": 5},
    ]
    return [("replay", command) for command in given]


def test_no_secret_is_in_any_output_or_row_of_a_machine_on_which_everything_fails(
    settings: dict[str, str], database_url: str, connection: Any
) -> None:
    """B56, B84, B85."""
    told = run(settings, *deliveries(), ("drain", {}), ("schedule", {}), ("relay", {}), *commands(), ("drain", {}))
    assert not [*leaking(told, settings)]
    assert not leaks(database_url, named(settings), {})
    # It has all happened: what was to fail did, and nothing else.
    failed = connection.execute("select kind from jobs where last_error is not null group by 1").fetchall()
    assert {kind for (kind,) in failed} >= {*automations.KINDS} - {"discards", "logs", "publishes", "fine"}
    assert connection.execute("select count(*) from events where route_error is not null").fetchone() == (2,)
    assert connection.execute("select count(*) from rejections").fetchone()[0] >= 4
    assert connection.execute("select count(*) from operations").fetchone()[0] >= 2
    assert "nobody was told" in told
    assert '"message": "alert"' in told
    assert '"raised"' not in told


AWAY = {
    "refused": f"postgresql://tide:{quote(PASSWORD, safe='')}@127.0.0.1:1/none",
    "nowhere": f"postgresql://tide:{quote(PASSWORD, safe='')}@no.such.host.invalid/none",
    "unencoded": "postgresql://tide:pw@kanari/pass#word@127.0.0.1:1/none",
    "unencoded percent": "postgresql://tide:pw%zzkanari@127.0.0.1:1/none",
    "bad port": "postgresql://tide:pwkanariword@127.0.0.1:port/none",
    "bracket": "postgresql://tide:pw[kanari]word@127.0.0.1:1/none",
    "a string": "host=127.0.0.1 port=1 user=tide password='pw kanari\\'word'",
    "a bad string": "host=127.0.0.1 port=1 user=tide password=pw kanari word",
    "parameter": "postgresql://127.0.0.1:1/none?user=tide&password=pw%2Fkanariword",
    "options": "postgresql://tide@127.0.0.1:1/none?password=pwkanariword&nonsense=1",
    "no address": "pwkanariword",
}


def test_no_password_is_in_what_is_said_of_a_database_that_is_away(settings: dict[str, str]) -> None:
    """B78, B84: nor any piece of one, where an address is so written that it is misread."""
    calls: list[tuple[str, object]] = [("settings", {"SECONDS_LEFT": "1"})]
    for url in AWAY.values():
        calls += [
            ("settings", {"DATABASE_URL": url}),
            order(v2, {"kinds": []}, "d"),
            ("intake", v2("/health", method="GET")),
            *((function, {}) for function in ("drain", "schedule", "relay", "consume", "migrate")),
            ("replay", {"command": "stats"}),
            ("migrate", {"ResponseURL": "http://127.0.0.1:1/", "RequestType": "Create"}),
            ("tidemill", ["migrate"]),
            ("tidemill", ["stats", "--json"]),
            ("tidemill", ["stats", "--database", url]),
        ]
    told = run(settings, *calls)
    assert not [line for line in told.splitlines() if "kanari" in line]
    assert not [*leaking(told, settings)]
    assert told.count('"function"') == len(calls)


def test_the_machine_of_these_tests_is_given_its_secrets(settings: dict[str, str]) -> None:
    assert unquote(urlsplit(settings["DATABASE_URL"]).password or "") == PASSWORD
    assert all(len(forms(secret)) > 5 for secret in named(settings))
