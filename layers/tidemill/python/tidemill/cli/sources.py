"""tidemill sources: what is received, what each source still needs, and how its sender is told the address."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tidemill import telegram
from tidemill.cli import options as of
from tidemill.cli.output import Exit, answered, fail
from tidemill.cli.target import Deployed, Target, Unreachable
from tidemill.errors import TidemillError

Register = Annotated[str | None, typer.Option(metavar="SOURCE", help="Tell its sender the address: Telegram's can be told.")]
Url = Annotated[str | None, typer.Option(help="The base address that senders call; unless given, PUBLIC_URL.")]


def sources(
    register: Register = None,
    url: Url = None,
    settings: of.SettingsFile = None,
    database: of.Database = None,
    stack: of.Stack = None,
    function: of.Function = None,
    region: of.Region = None,
    as_json: of.AsJson = False,
) -> None:
    """List the sources: their addresses, which secrets they need and whether those are set, where to register them."""
    target = of.target(database, stack, function, region, settings)
    try:
        answer = target.run({"command": "sources"})
        if not answer["ok"]:
            raise answered(answer, as_json)
        found: list[dict[str, Any]] = answer["sources"]
        _addressed(found, url, target)
        if register is None:
            raise answered(answer, as_json, {"sources": [_row(one) for one in found]})
        said = _register(register, found, target)
        raise answered({"ok": True, "source": register, "said": said}, as_json)
    except Unreachable as error:
        raise fail(str(error)) from None
    except TidemillError as error:
        raise fail(str(error), Exit.REFUSED) from None


def _addressed(found: list[dict[str, Any]], url: str | None, target: Target) -> None:
    """Complete the addresses, where those who answered did not know them."""
    if url is None and isinstance(target, Deployed) and any(one["url"] is None for one in found):
        try:
            url = target.settings().get("PUBLIC_URL")
        except Unreachable:
            return  # who may list the sources need not be allowed to read the settings
    for one in found:
        if url:
            one["url"] = f"{url.rstrip('/')}/hooks/{one['name']}"


def _row(source: dict[str, Any]) -> dict[str, Any]:
    needs = [f"{one['setting']} ({'set' if one['set'] else 'missing'})" for one in source["secrets"]]
    where = f"tidemill sources --register {source['name']}" if source["by_command"] else source["register"]
    return {"source": source["name"], "address": source["url"], "needs": ", ".join(needs), "register": where}


def _register(name: str, found: list[dict[str, Any]], target: Target) -> str:
    """What was done. Raises Unreachable, and TidemillError where Telegram refuses."""
    source = next((one for one in found if one["name"] == name), None)
    if source is None:
        raise fail(f"there is no source {name!r}", Exit.REFUSED)
    if not source["by_command"]:
        where = source["register"] or "its sender's documentation says where"
        raise fail(f"the sender of {name!r} can only be told by a person: {where}", Exit.REFUSED)
    if source["url"] is None:
        raise typer.BadParameter("give --url, or set PUBLIC_URL: the address that Telegram is to call")
    return telegram.register(target.settings(), None, source["url"], source["secrets"][0]["setting"])
