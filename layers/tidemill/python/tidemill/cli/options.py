"""Arguments and options that several commands have, and where a command goes by them."""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import Annotated

import typer

from tidemill.cli.target import Deployed, Here, Target, clients

LOCAL = Path(".tidemill/settings.env")  # what the local run made up

Job = Annotated[int, typer.Argument(help="The id of a job.")]
OneJob = Annotated[int | None, typer.Argument(help="The id of a job.")]
Kind = Annotated[str | None, typer.Option(help="Jobs of this kind.")]
ErrorClass = Annotated[str | None, typer.Option(help="Jobs whose last error is of this class.")]
OfSource = Annotated[str | None, typer.Option(help="Of this source.")]
Since = Annotated[str | None, typer.Option(help="Not before: ISO 8601 with an offset, or a time ago such as 30m, 2h, 7d.")]
Until = Annotated[str | None, typer.Option(help="Before: like --since.")]
Size = Annotated[int | None, typer.Option(help="How many to list (20).")]
After = Annotated[str | None, typer.Option(help="The `after` of the page before.")]
Force = Annotated[bool, typer.Option("--force", help="Make a new job of one that is done.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")]
Limit = Annotated[str, typer.Argument(help="The name of a limit.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before many are changed.")]

_WHERE = "Where"
Database = Annotated[
    str | None, typer.Option(help="Work on this database; unless given, on DATABASE_URL.", rich_help_panel=_WHERE)
]
Stack = Annotated[
    str | None, typer.Option(help="Work through the replay function of this stack: NAME-replay.", rich_help_panel=_WHERE)
]
Function = Annotated[str | None, typer.Option(help="Work through this function, by name or ARN.", rich_help_panel=_WHERE)]
Region = Annotated[
    str | None, typer.Option(help="Of --stack and --function; unless given, the usual one.", rich_help_panel=_WHERE)
]
SettingsFile = Annotated[
    Path | None, typer.Option("--settings", help=f"A file of NAME=value lines; unless given, {LOCAL} where there is one.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
By = Annotated[str | None, typer.Option(help="Who stands in the record of operations: by default, the user.")]


def target(
    database: str | None, stack: str | None, function: str | None, region: str | None, settings: Path | None = None
) -> Target:
    """Where a command goes. Raises typer.BadParameter where that is nowhere, or in two directions."""
    given = [name for name, value in (("--database", database), ("--stack", stack), ("--function", function)) if value]
    if len(given) > 1:
        raise typer.BadParameter(f"give one of {' and '.join(given)}")
    if stack or function:
        return Deployed(function or f"{stack}-replay", clients(region), stack)
    environ = environment(settings) | ({"DATABASE_URL": database} if database else {})
    if not environ.get("DATABASE_URL") and not environ.get("DATABASE_SECRET_ARN"):
        raise typer.BadParameter("give --database, --stack or --function, or set DATABASE_URL")
    return Here(environ)


def environment(settings: Path | None) -> dict[str, str]:
    """The environment, of which a blank variable hides nothing, over the lines of a file. Raises typer.BadParameter."""
    path = settings or LOCAL
    if settings is None and not path.exists():
        return dict(os.environ)
    try:
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{path}: {type(error).__name__}", param_hint="--settings") from None
    pairs = [line.partition("=") for line in lines if "=" in line and not line.startswith("#")]
    found = {name.strip(): value.strip() for name, _, value in pairs}
    return found | {name: value for name, value in os.environ.items() if value.strip() or name not in found}


def user() -> str:
    """Who gives a command, where --by does not say."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # no name for this user id, as in a bare container
        return "unknown"
