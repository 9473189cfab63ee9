"""tidemill: the operator's commands for people, against a database or a deployed stack."""

from __future__ import annotations

import getpass
import inspect
import io
import json
import os
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import wraps
from typing import Annotated, Any, NoReturn, get_type_hints

import psycopg
import typer
from rich.console import Console
from rich.markup import escape

from tidemill import app as machine
from tidemill import tables
from tidemill.errors import ConfigurationError
from tidemill.settings import Settings

REFUSED, USAGE = 1, 2  # exit codes

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Look at Tidemill's jobs and events, and decide about them. `tidemill migrate` applies the migrations."
    " Exit codes: 0 done, 1 refused, not found or out of reach, 2 a command that makes no sense.",
)

Job = Annotated[int, typer.Argument(help="The id of a job.")]
OneJob = Annotated[int | None, typer.Argument(help="The id of a job.")]
Kind = Annotated[str | None, typer.Option(help="Jobs of this kind.")]
ErrorClass = Annotated[str | None, typer.Option(help="Jobs whose last error is of this class.")]
Since = Annotated[str | None, typer.Option(help="Not before: ISO 8601 with an offset, or a time ago such as 30m, 2h, 7d.")]
Until = Annotated[str | None, typer.Option(help="Before: like --since.")]
Force = Annotated[bool, typer.Option("--force", help="Make a new job of one that is done.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")]
Limit = Annotated[str, typer.Argument(help="The name of a limit.")]

Database = Annotated[str | None, typer.Option(envvar="DATABASE_URL", help="Work on this database.", show_envvar=True)]
Stack = Annotated[str | None, typer.Option(help="Work through the replay function of this CloudFormation stack.")]
Function = Annotated[str | None, typer.Option(help="Work through this replay function.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
By = Annotated[str | None, typer.Option(help="Who stands in the record of operations: by default, the user.")]


def command(build: Callable[..., dict[str, Any]]) -> Callable[..., None]:
    """Register a command: `build` makes the operator's command of its arguments; the options that all share are added."""
    hints = get_type_hints(build, include_extras=True)
    shared = {"database": Database, "stack": Stack, "function": Function, "as_json": AsJson, "by": By}
    defaults = {"as_json": False}

    @wraps(build)
    def run(**given: Any) -> None:
        options = {name: given.pop(name) for name in shared}
        fields = {name: value for name, value in build(**given).items() if value not in (None, False)}
        _run(fields, **options)

    own = inspect.signature(build).parameters.values()
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=hint)
        for name, hint in shared.items()
    ]
    kept = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[one.name]) for one in own]
    run.__signature__ = inspect.Signature([*kept, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {name: hint for name, hint in hints.items() if name != "return"} | shared
    app.command(build.__name__)(run)
    return run


@command
def failed(
    kind: Kind = None,
    error_class: ErrorClass = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int | None, typer.Option(help="How many to list (20).")] = None,
    after: Annotated[str | None, typer.Option(help="The `after` of the page before.")] = None,
) -> dict[str, Any]:
    """List failed jobs, the latest first."""
    return {"command": "failed", **locals()}


@command
def retry(
    job: OneJob = None,
    kind: Kind = None,
    error_class: ErrorClass = None,
    since: Since = None,
    until: Until = None,
    force: Force = False,
    dry_run: DryRun = False,
) -> dict[str, Any]:
    """Give a failed job, or all that match, a fresh budget."""
    return {"command": "retry", **locals()}


@command
def replay(
    event: Annotated[int | None, typer.Argument(help="The id of an event.")] = None,
    source: Annotated[str | None, typer.Option(help="Events of this source.")] = None,
    since: Since = None,
    until: Until = None,
    unrouted: Annotated[bool, typer.Option("--unrouted", help="Events that could not be parsed or routed.")] = False,
    force: Force = False,
    dry_run: DryRun = False,
) -> dict[str, Any]:
    """Route a stored event, or all that match, again with today's code."""
    return {"command": "replay", **locals()}


@command
def show(
    job: OneJob = None, event: Annotated[int | None, typer.Option(help="The id of an event, in place of a job's.")] = None
) -> dict[str, Any]:
    """Show a job or an event, whole."""
    return {"command": "show", **locals()}


@command
def stats() -> dict[str, Any]:
    """Say how the line stands."""
    return {"command": "stats"}


@command
def cancel(job: Job) -> dict[str, Any]:
    """Discard a pending or failed job, and free its key."""
    return {"command": "cancel", **locals()}


@command
def restart(job: Job, step: Annotated[str, typer.Argument(help="The name of a step, as `show` has it.")]) -> dict[str, Any]:
    """Let a workflow forget a step and all after it, and run again from there."""
    return {"command": "restart", **locals()}


@command
def pause(limit: Limit, seconds: Annotated[float | None, typer.Option("--for", help="Seconds.")] = None) -> dict[str, Any]:
    """Start nothing under a limit, for some time or until it is resumed."""
    return {"command": "pause", "limit": limit, "for": seconds}


@command
def resume(limit: Limit) -> dict[str, Any]:
    """End a pause."""
    return {"command": "resume", **locals()}


def answer_of(
    command: dict[str, Any], database: str | None, stack: str | None, function: str | None, client: Callable[[str], Any]
) -> dict[str, Any]:
    """Give the command to a function, to a stack's, or to the database itself. `client(service)` makes a boto3 client."""
    if stack is not None:
        found = client("cloudformation").describe_stack_resource(StackName=stack, LogicalResourceId="ReplayFunction")
        function = found["StackResourceDetail"]["PhysicalResourceId"]
    if function is None:
        # What the machine logs on stdout is not for this terminal, nor for the program that reads --json.
        with redirect_stdout(io.StringIO()):
            return machine.load({**os.environ, "DATABASE_URL": str(database)}).operator.run(command)
    response = client("lambda").invoke(FunctionName=function, Payload=json.dumps(command).encode())
    answer = json.loads(response["Payload"].read())
    if "FunctionError" in response or not isinstance(answer, dict) or "ok" not in answer:
        said = answer.get("errorMessage") if isinstance(answer, dict) else None
        raise ConfigurationError(f"the function {function} failed: {said or 'see its log'}")
    return answer


def aws_client(service: str) -> Any:
    """A client that waits for a bulk command to end, and never sends it twice."""
    import boto3
    from botocore.config import Config

    return boto3.client(service, config=Config(read_timeout=900, retries={"total_max_attempts": 1}))


def _run(
    command: dict[str, Any], *, database: str | None, stack: str | None, function: str | None, as_json: bool, by: str | None
) -> NoReturn:
    if stack is not None and function is not None:
        raise typer.BadParameter("give one of --stack and --function")
    if database is None and stack is None and function is None:
        raise typer.BadParameter("give --database, --stack or --function, or set DATABASE_URL")
    try:
        answer = answer_of({**command, "by": by or _user()}, database, stack, function, aws_client)
    except Exception as error:
        if not isinstance(error, (ConfigurationError, psycopg.Error)) and not type(error).__module__.startswith("botocore"):
            raise
        text = Settings({"DATABASE_URL": database or ""}).redact(str(error).strip())
        if isinstance(error, psycopg.errors.UndefinedTable):
            text = "this database has no tables of Tidemill, or old ones: run `tidemill migrate`"
        Console(stderr=True).print(f"{type(error).__name__}: {escape(text)}", style="red", highlight=False)
        raise typer.Exit(REFUSED) from None
    if as_json:
        typer.echo(json.dumps(answer))
    elif answer["ok"]:
        tables.show(Console(), {name: value for name, value in answer.items() if name != "ok"})
    else:
        Console(stderr=True).print(tables.plain(answer["error"]["message"]), style="red")
    invalid = not answer["ok"] and answer["error"]["code"] == "invalid"
    raise typer.Exit(0 if answer["ok"] else USAGE if invalid else REFUSED)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # no name for this user id, as in a bare container
        return "unknown"
