"""tidemill send: a test delivery, signed as its sender would sign it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urljoin, urlsplit

import typer

from tidemill import app as machine
from tidemill import http, jsontext, senders, tables
from tidemill import source as source_module
from tidemill.cli import options as of
from tidemill.cli.output import Exit, fail, out, told
from tidemill.cli.target import Unreachable, loaded
from tidemill.errors import CommandError, ConfigurationError
from tidemill.settings import Settings
from tidemill.source import Source

Headers = list[tuple[str, str]]

LOCAL_URL = "http://127.0.0.1:8000"

Name = Annotated[str, typer.Argument(metavar="SOURCE", help="A source of the automations that are installed here.")]
File = Annotated[Path, typer.Argument(help="The body; - is stdin.", allow_dash=True)]
Url = Annotated[str | None, typer.Option(help=f"The base address to send to; unless given the stack's, else {LOCAL_URL}.")]
Header = Annotated[list[str] | None, typer.Option(help="One more header, 'Name: value'; it replaces one of that name.")]


def send(
    source: Name,
    file: File,
    url: Url = None,
    header: Header = None,
    settings: of.SettingsFile = None,
    stack: of.Stack = None,
    region: of.Region = None,
    as_json: of.AsJson = False,
) -> None:
    """Send a correctly signed test delivery, to the local run or to a deployed stack, and show the answer."""
    body, more = _body(file), [_header(one) for one in header or ()]
    environment = of.environment(settings)
    known = Settings({})
    try:
        known = _settings(stack, region, environment)
        base = (url or (known.get("PUBLIC_URL", "") if stack else LOCAL_URL)).rstrip("/")
        if urlsplit(base).scheme not in ("http", "https"):
            raise typer.BadParameter("give --url, http:// or https://: where the stack listens is not known")
        address = f"{base}/hooks/{source}"
        # What the intake sees of an address without PUBLIC_URL is API Gateway's own, which is always https.
        signed = urlsplit(address)._replace(scheme="https").geturl()
        made = senders.sign(_source(source, environment), body, known, time.time(), signed)
        answer = _post(address, body, _merged([("Content-Type", _type_of(body)), *made], more))
    except Unreachable as error:
        raise fail(str(error)) from None
    except (CommandError, ConfigurationError) as error:
        raise fail(known.redact(str(error)), Exit.REFUSED) from None
    if as_json:
        typer.echo(json.dumps(answer))
    else:
        tables.show(out(), {name: value for name, value in answer.items() if name != "ok"})
    raise typer.Exit(Exit.DONE if answer["ok"] else Exit.REFUSED)


def _settings(stack: str | None, region: str | None, environment: Mapping[str, str]) -> Settings:
    """The settings to sign with. Of a stack those of its secret, or, for who may not read that, the ones that are here."""
    here = loaded(environment)
    if stack is None:
        return here
    try:
        return of.target(None, stack, None, region).settings()
    except Unreachable as error:
        told(f"{error}; the secrets of this environment are used", "yellow")
        return here


def _source(name: str, environment: Mapping[str, str]) -> Source:
    found = source_module.by_name(source_module.declared.of(machine.load_automations(environment)))
    if name not in found:
        raise CommandError("not_found", f"there is no source {name!r}, only {', '.join(sorted(found)) or 'none'}", "source")
    return found[name]


def _post(address: str, body: bytes, headers: Headers) -> dict[str, Any]:
    """{"ok", "status", "location", "answer"}. Raises Unreachable."""
    try:
        response = http.session().post(address, data=body, headers=dict(headers), allow_redirects=False)
        answer: Any = response.text
    except Exception as error:  # of requests; its text would show the address, which may hold a secret
        reason = f"{urlsplit(address).netloc.rpartition('@')[2]} does not answer: {type(error).__name__}"
        raise Unreachable(reason) from None
    with suppress(ValueError):
        answer = jsontext.loads(answer)
    location = response.headers.get("Location")
    return {
        "ok": response.ok,
        "status": f"{response.status_code} {response.reason}",
        "location": location and urljoin(address, location),
        "answer": answer,
    }


def _body(file: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}") from None


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise typer.BadParameter(f"--header must be 'Name: value', not {text!r}")
    return name.strip(), value.strip()


def _merged(made: Headers, more: Headers) -> Headers:
    replaced = {name.lower() for name, _ in more}
    return [one for one in made if one[0].lower() not in replaced] + more


def _type_of(body: bytes) -> str:
    """What a body seems to be: JSON, else a form."""
    try:
        jsontext.loads(body.decode())
    except ValueError:
        return "application/x-www-form-urlencoded"
    return "application/json"
