"""The migrate function as CloudFormation sees it: every request is answered, or the deploy would hang for an hour.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-responses.html
"""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Callable
from typing import Any

from tidemill import jsontext, migrations, settings
from tidemill.connector import connector
from tidemill.telemetry import Log

PHYSICAL_ID = "tidemill-migrations"  # always the same, or CloudFormation would delete "the old one" after an update

Send = Callable[[str, bytes], None]


def handle(event: dict[str, Any], context: object, send: Send | None = None) -> dict[str, Any]:
    """Migrate on Create and Update, do nothing on Delete (the data stay); answers CloudFormation, and {"applied": [names]}.

    With no ResponseURL in the event (an invoke by hand) an error is raised as it is.
    """
    url = event.get("ResponseURL") if isinstance(event, dict) else None
    if not url:
        return {"ok": True, "applied": _migrate()}
    reason = ""
    applied: list[str] = []
    try:
        if event.get("RequestType") != "Delete":
            applied = _migrate()
    except Exception as error:  # whatever it is, CloudFormation must hear of it
        reason = f"{type(error).__name__}: {error}"
    reason = _redact(reason)
    answer = {
        "Status": "FAILED" if reason else "SUCCESS",
        "Reason": reason or "migrated",
        "PhysicalResourceId": PHYSICAL_ID,
        "StackId": event.get("StackId"),
        "RequestId": event.get("RequestId"),
        "LogicalResourceId": event.get("LogicalResourceId"),
        "Data": {"Applied": ",".join(applied)[:1000]},
    }
    (send or _put)(str(url), json.dumps(answer).encode())
    return {"ok": not reason, "applied": applied, **({"reason": reason} if reason else {})}


def _migrate() -> list[str]:
    loaded = settings.load(os.environ)
    # Behind a pooler or proxy the lock of a session means nothing: migrations go to the server itself.
    loaded.require("DATABASE_URL")
    url = loaded.get("MIGRATIONS_DATABASE_URL") or loaded["DATABASE_URL"]
    applied = migrations.migrate(url, connect=connector(loaded, os.environ))
    Log(loaded.redact).info("migrated", applied=applied)
    return applied


def _redact(text: str) -> str:
    try:
        return jsontext.clean(settings.load(os.environ).redact(text), 1000)
    except Exception:  # the settings themselves cannot be read: then nothing of theirs is in the text
        return jsontext.clean(text, 1000)


def _put(url: str, body: bytes) -> None:
    request = urllib.request.Request(url, data=body, method="PUT", headers={"content-type": ""})
    with urllib.request.urlopen(request, timeout=20):
        pass
