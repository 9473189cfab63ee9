"""The operator's commands: each makes of its arguments what `tidemill.operate` reads."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any, NoReturn, get_type_hints

import typer

from tidemill.cli import bulk
from tidemill.cli import options as of
from tidemill.cli.output import Exit, answered, fail
from tidemill.cli.target import Unreachable

Build = Callable[..., dict[str, Any]]

_SHARED = {
    "database": (of.Database, None), "stack": (of.Stack, None), "function": (of.Function, None), "region": (of.Region, None),
    "as_json": (of.AsJson, False), "by": (of.By, None),
}  # fmt: skip


def add(app: typer.Typer) -> None:
    """Add the commands below."""
    looking = (failed, show, search, stats, rejected, schedules, operations)
    for build in (*looking, retry, replay, cancel, restart, pause, resume):
        app.command(build.__name__)(_command(build))


def _command(build: Build) -> Callable[..., None]:
    """The command that `build` makes: its arguments are those of `build` and the options that all share."""
    hints = get_type_hints(build, include_extras=True)

    @wraps(build)
    def run(**given: Any) -> None:
        shared = {name: given.pop(name) for name in _SHARED}
        yes = given.pop("yes", False)
        fields = {name: value for name, value in build(**given).items() if value not in (None, False)}
        _run(fields, yes=yes, **shared)

    own = inspect.signature(build).parameters.values()
    kept = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[one.name]) for one in own]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for name, (hint, default) in _SHARED.items()
    ]
    if build in (retry, replay):
        added.insert(0, inspect.Parameter("yes", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=of.Yes))
    run.__signature__ = inspect.Signature([*kept, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in [*kept, *added]}
    return run


def _run(
    command: Mapping[str, Any],
    *,
    yes: bool,
    database: str | None,
    stack: str | None,
    function: str | None,
    region: str | None,
    as_json: bool,
    by: str | None,
) -> NoReturn:
    target = of.target(database, stack, function, region)
    command = {**command, "by": by or of.user()}
    try:
        if bulk.one_of_many(command):
            raise bulk.carry_out(target, command, yes=yes, as_json=as_json)
        answer = target.run(command)
        raise answered(answer, as_json, _as_people_read(answer))
    except Unreachable as error:
        raise fail(str(error)) from None
    except KeyboardInterrupt:
        raise typer.Exit(Exit.STOPPED) from None


def _as_people_read(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with the samples of what was rejected in words."""
    if "rejected" not in answer:
        return answer
    return answer | {"rejected": [{**one, "sample": _words(one["sample"])} for one in answer["rejected"]]}


def _words(sample: Mapping[str, Any]) -> str:
    if not sample:
        return ""
    request = f"{sample['method']} {sample['path']} from {sample['source_ip'] or 'somewhere'}"
    return f"{request}, {sample['body_bytes']} bytes, answered {sample['status']}"


def failed(
    kind: of.Kind = None,
    error_class: of.ErrorClass = None,
    since: of.Since = None,
    until: of.Until = None,
    limit: of.Size = None,
    after: of.After = None,
) -> dict[str, Any]:
    """List failed jobs, the latest first."""
    return {"command": "failed", **locals()}


def retry(
    job: of.OneJob = None,
    kind: of.Kind = None,
    error_class: of.ErrorClass = None,
    since: of.Since = None,
    until: of.Until = None,
    force: of.Force = False,
    dry_run: of.DryRun = False,
) -> dict[str, Any]:
    """Give a failed job, or all that match, a fresh budget."""
    return {"command": "retry", **locals()}


def replay(
    event: Annotated[int | None, typer.Argument(help="The id of an event.")] = None,
    source: of.OfSource = None,
    since: of.Since = None,
    until: of.Until = None,
    unrouted: Annotated[bool, typer.Option("--unrouted", help="Events that could not be parsed or routed.")] = False,
    force: of.Force = False,
    dry_run: of.DryRun = False,
) -> dict[str, Any]:
    """Route a stored event, or all that match, again with today's code."""
    return {"command": "replay", **locals()}


def show(
    job: of.OneJob = None,
    event: Annotated[int | None, typer.Option(help="The id of an event, in place of a job's.")] = None,
) -> dict[str, Any]:
    """Show a job or an event, whole."""
    return {"command": "show", **locals()}


def search(text: Annotated[str, typer.Argument(help="An id or a correlation id.")]) -> dict[str, Any]:
    """Find events and jobs by an id or a correlation id."""
    return {"command": "search", **locals()}


def stats() -> dict[str, Any]:
    """Say how the line stands."""
    return {"command": "stats"}


def cancel(job: of.Job) -> dict[str, Any]:
    """Discard a pending or failed job, and free its key."""
    return {"command": "cancel", **locals()}


def restart(
    job: of.Job, step: Annotated[str, typer.Argument(help="The name of a step, as `show` has it.")]
) -> dict[str, Any]:
    """Let a workflow forget a step and all after it, and run again from there."""
    return {"command": "restart", **locals()}


def rejected(
    source: of.OfSource = None, since: of.Since = None, limit: of.Size = None, after: of.After = None
) -> dict[str, Any]:
    """List what was refused, by source, reason and hour."""
    return {"command": "rejected", **locals()}


def schedules() -> dict[str, Any]:
    """List the schedules: their last and next slots, and whether one is overdue."""
    return {"command": "schedules"}


def pause(
    limit: of.Limit, seconds: Annotated[float | None, typer.Option("--for", help="Seconds.")] = None
) -> dict[str, Any]:
    """Start nothing under a limit, for some time or until it is resumed."""
    return {"command": "pause", "limit": limit, "for": seconds}


def resume(limit: of.Limit) -> dict[str, Any]:
    """End a pause."""
    return {"command": "resume", **locals()}


def operations(limit: of.Size = None, after: of.After = None) -> dict[str, Any]:
    """List who did what, the latest first."""
    return {"command": "operations", **locals()}
