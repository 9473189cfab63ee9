"""`make run`: everything on this machine, until Ctrl-C."""

from __future__ import annotations

import argparse
import hashlib
import hmac
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from tidemill.errors import ConfigurationError

from local.console import readable
from local.stack import FOLDER, Line, Stack

DEFAULT_PORT = 8000
GRACE = 2.0  # seconds that running invocations have when it ends


def main() -> int:
    """The exit code: 0 when it was asked to end, 1 when it could not start, 2 for a command that makes no sense."""
    parser = argparse.ArgumentParser(prog="make run", description="Run Tidemill on this machine, until Ctrl-C.")
    parser.add_argument("--json", action="store_true", help="show what the functions write as it is")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the data and the secrets are kept (.tidemill)")
    given = parser.parse_args()
    show = _show_raw if given.json else _show_readable
    ending = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: ending.set())
    try:
        port = _port(os.environ.get("PORT") or str(DEFAULT_PORT))
        _run(port, given.folder.resolve(), show, ending)
    except Exception as error:
        if ending.is_set():  # what was just starting was told to end as well
            return 0
        if isinstance(error, ConfigurationError):
            print(f"cannot start: {error}", file=sys.stderr)
            return 1
        raise
    return 0


def _run(port: int, folder: Path, show: Callable[[Line], None], ending: threading.Event) -> None:
    try:
        stack = Stack(os.environ, port=port, folder=folder, say=show, grace=GRACE).__enter__()
    except OSError as error:
        raise ConfigurationError(f"port {port}: {error.strerror}; PORT=8001 make run takes another") from None
    try:
        _introduce(stack)
        ending.wait()
        print("ending ...", flush=True)
    finally:
        stack.__exit__(None, None, None)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise ConfigurationError(f"PORT must be a number up to 65535, not {text[:40]!r}")
    return int(text)


def _introduce(stack: Stack) -> None:
    sources = ", ".join(f"/hooks/{name}" for name in stack.sources)
    print(f"Tidemill listens at {stack.url}")
    print(f"  sources    {sources or 'none'}")
    print(f"  secrets    {stack.secrets_file}")
    if "DATABASE_URL" in os.environ:
        print("  database   the one of DATABASE_URL")
    else:
        print(f"  database   DATABASE_URL='{stack.database_url}'")
    print(f"  console    {stack.url}/console")
    print(f"  functions  AWS_ENDPOINT_URL_LAMBDA={stack.lambda_url}")
    print("  Telegram   " + ("a stand-in, shown here" if stack.telegram else "the bot of TELEGRAM_BOT_TOKEN"))
    print("  mail       " + (f"a stand-in, shown here and at {stack.mail.url}/messages" if stack.mail else "MAIL_API"))
    if "site" in stack.sources:
        print(f"Try it, in another terminal:\n\n  {_example(stack)}\n")
    print("Ctrl-C ends it; the data stay.", flush=True)


def _example(stack: Stack) -> str:
    """A request to the shipped source, signed, as a shell takes it. The signature fits this body only."""
    body = json.dumps({"name": "Ada", "message": "Hello!"})
    secret = stack.settings["SITE_WEBHOOK_SECRET"].split(",")[0].strip()
    signature = hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()
    headers = f"-H 'Content-Type: application/json' -H 'X-Signature: {signature}'"
    return f"curl -i {stack.url}/hooks/site {headers} -d '{body}'"


def _show_readable(line: Line) -> None:
    if (text := readable(line)) is not None:
        print(text, flush=True)


def _show_raw(line: Line) -> None:
    print(json.dumps({"function": line.name, "line": line.text}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
