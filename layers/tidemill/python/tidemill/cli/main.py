"""`tidemill`: all commands together."""

from __future__ import annotations

import typer

from tidemill.cli import commands, send, sources, tail
from tidemill.cli.migrate import migrate

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Look at Tidemill's events and jobs, and decide about them: in a database, or through a deployed stack."
    " Exit codes: 0 done; 1 refused, not found or in conflict; 2 a command that makes no sense;"
    " 3 a database or function that is out of reach or broken.",
)
commands.add(app)
app.command("sources")(sources.sources)
app.command("send")(send.send)
app.command("tail")(tail.tail)


@app.command("migrate", add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def _migrate(context: typer.Context) -> None:
    """Apply the migrations that were not applied yet."""
    raise typer.Exit(migrate(context.args))
